"""A sealed bundle gives back what was put in, refuses a changed byte, and shows what does not come out of a record."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.__main__ import main
from parley.analysis.bundles.bundle import computed_seal, seal, write_bundle
from parley.analysis.bundles.check import DIFFERS, SAME, UNKNOWN, check_bundle, open_bundle
from parley.analysis.bundles.crate import METADATA, CrateRun, crate_fault, describe_crate, listed_files
from parley.analysis.card.derivation import read_design
from parley.llm.errors import UserError

MOST = 30
"""Bytes that are changed."""


@pytest.fixture(scope="module")
def bundle(reported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a run with its report. Do not write into it."""
    out = tmp_path_factory.mktemp("bundle") / "b.zip"
    write_bundle([reported], out, "A. Author", "CC-BY-4.0")
    return out


@pytest.fixture(scope="module")
def bare(ran: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a run with a page and no figures, which is quick to make. Do not write into it."""
    place = tmp_path_factory.mktemp("bare")
    run = Path(shutil.copytree(ran(repetitions=2, rounds=1), place / "a run"))
    (run / "summary.md").write_text("# A run")
    write_bundle([run], place / "b.zip", "A. Author", "CC-BY-4.0")
    return place / "b.zip"


def repack(path: Path, place: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """A copy of a bundle with other files, and a seal that fits them."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    out = place / "changed.zip"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    seal(out)
    return out


def relist(files: dict[str, bytes]) -> None:
    """Write metadata that fit changed files, as somebody who wants to deceive would."""
    crate = json.loads(files[METADATA])
    for entity in crate["@graph"]:
        name = str(entity.get("name"))
        if entity.get("@type") == "File":
            entity["sha256"] = hashlib.sha256(files[name]).hexdigest()
    files[METADATA] = json.dumps(crate).encode()


@pytest.mark.thorough
def test_a_bundle_comes_out_of_its_record_again(bundle: Path, reported: Path, tmp_path: Path) -> None:
    """The same folder gives the same bytes. Figures, tables, pages and prompts come out again; the replies give the record."""
    first = write_bundle([reported], tmp_path / "b.zip", "A. Author", "CC-BY-4.0")
    assert (tmp_path / "b.zip").read_bytes() == bundle.read_bytes()
    assert first == computed_seal(bundle)
    findings = check_bundle(bundle, f"sha256:{first}")
    assert {one.verdict for one in findings} == {SAME}
    derived = next(one.sentence for one in findings if "come out of the record again" in one.sentence)
    with zipfile.ZipFile(bundle) as archive:
        pages = sum("/tables/" in name or "/figures/" in name for name in archive.namelist()) + 3
        prompts = archive.read("a run/prompts.jsonl").decode().splitlines()
    assert derived.startswith(f"{pages} of {pages} ")
    assert all(line["messages"] and line["reply"] for line in map(json.loads, prompts))
    with pytest.raises(UserError, match="is another bundle"):
        open_bundle(bundle, tmp_path / "place", "0" * 64)


def test_the_metadata_are_an_ro_crate(bare: Path) -> None:
    """Every file is listed with its SHA-256; the licence is the author's, or `not stated`; a fault of the crate is named."""
    with zipfile.ZipFile(bare) as archive:
        crate, names = json.loads(archive.read(METADATA)), set(archive.namelist())
    assert crate_fault(crate) == ""
    assert set(listed_files(crate)) == names - {METADATA}
    root = next(one for one in crate["@graph"] if one["@id"] == "./")
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    plain = describe_crate([], [CrateRun("a", "A", "", "2026-01-01T00:00:00", "2026-01-02T00:00:00", True)], {}, "", "")
    assert next(one for one in plain["@graph"] if one["@id"] == "./")["license"] == "not stated"
    del root["datePublished"]
    assert crate_fault(crate) == "the root data set lacks datePublished"
    assert crate_fault({"@graph": [1]}) == crate_fault([]) == "@graph is no list of entities"


def test_a_changed_byte_anywhere_is_refused(bare: Path, tmp_path: Path) -> None:
    """Bytes over the whole file, one after the other: content, names, dates, directory, comment."""
    out, data = tmp_path / "b.zip", bare.read_bytes()
    for number in range(MOST):
        place = number * (len(data) - 1) // (MOST - 1)
        changed = bytearray(data)
        changed[place] ^= 1
        out.write_bytes(changed)
        with pytest.raises(UserError) as error:
            open_bundle(out, tmp_path / f"x{number}")
        assert "\n" not in str(error.value), place
    for size in (0, 100, len(data) - 1):
        out.write_bytes(data[:size])
        with pytest.raises(UserError):
            open_bundle(out, tmp_path / f"short{size}")


def test_files_that_were_changed_missing_or_added_are_named(bare: Path, tmp_path: Path) -> None:
    """With a seal that fits the changed zip, the hash of the file still does not."""
    name = "a run/experiment.json"
    for change, message in (
        (lambda files: files.update({name: files[name] + b" "}), f"{name} does not have the SHA-256"),
        (lambda files: files.pop(name), f"{name} is missing"),
        (lambda files: files.update({"a run/more.txt": b""}), "a run/more.txt is not listed"),
        (lambda files: files.update({"../x": b""}), "which no bundle has"),
        (lambda files: files.update({METADATA: b"{"}), f"{METADATA} cannot be read"),
        (lambda files: files.pop(METADATA), "is no bundle"),
    ):
        with pytest.raises(UserError, match=message.replace(".", r"\.")):
            open_bundle(repack(bare, tmp_path, change), tmp_path / "place")


@pytest.mark.thorough
def test_a_table_or_a_record_that_was_made_up_is_found(bundle: Path, tmp_path: Path) -> None:
    """Hashes and seal fit the forgery. A table that the record does not give and a record that replies do not give are found."""

    def forge(name: str, old: bytes, new: bytes) -> list[str]:
        def change(files: dict[str, bytes]) -> None:
            assert old in files[name]
            files[name] = files[name].replace(old, new, 1)
            relist(files)

        return [one.sentence for one in check_bundle(repack(bundle, tmp_path, change)) if one.verdict == DIFFERS]

    (table,) = forge("a run/tables/drift.csv", b'"republican"', b'"democrat"')
    assert table.startswith("tables/drift.csv is not what comes out of the record")
    said = forge("a run/record.jsonl", b'"rating":', b'"rating":1')
    assert "line " in said[0]
    assert "does not come out of the replies in its journal" in said[0]


@pytest.mark.thorough
def test_killed_empty_and_silent_runs(reported: Path, tmp_path: Path) -> None:
    """A killed run is bundled as far as it went; one without a journal cannot show its replies; an empty one is refused."""
    run = Path(shutil.copytree(reported, tmp_path / "a run"))
    lines = (run / "record.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "record.jsonl").rename(run / "record.partial.jsonl")
    (run / "record.partial.jsonl").write_text("".join(lines[: len(lines) // 2]) + '{"kind": "ut', encoding="utf-8")
    (run / "summary.md").unlink()
    shutil.rmtree(run / "tables")
    write_bundle([run], tmp_path / "killed.zip")
    assert {one.verdict for one in check_bundle(tmp_path / "killed.zip")} == {SAME}
    (run / "journal.sqlite").unlink()
    write_bundle([run], tmp_path / "silent.zip")
    unknown = [one.sentence for one in check_bundle(tmp_path / "silent.zip") if one.verdict == UNKNOWN]
    assert unknown == ["whether the replies give the record is unknown: there is no journal"]
    (run / "record.partial.jsonl").write_text("")
    with pytest.raises(UserError, match="no results yet"):
        write_bundle([run], tmp_path / "empty.zip")
    with pytest.raises(UserError, match="is not the folder of a run"):
        write_bundle([tmp_path / "nothing"], tmp_path / "empty.zip")
    with pytest.raises(UserError, match="two of the runs are in folders named"):
        write_bundle([run, run], tmp_path / "twice.zip")


def entity(files: dict[str, bytes], mark: str, **new: object) -> None:
    """Change an entity of the metadata, and all references to its @id."""
    text = files[METADATA].decode().replace(json.dumps(mark), json.dumps(new.pop("id", mark)))
    crate = json.loads(text)
    for one in crate["@graph"]:
        if one["@id"] == mark:
            one.update(new)
    files[METADATA] = json.dumps(crate).encode()


def test_metadata_of_another_hand_are_refused_in_one_line(bare: Path, tmp_path: Path) -> None:
    """A run outside of the bundle, a run that is not there and values of the wrong kind are no traceback."""
    for name in ("..", ".", "", "/etc", "../x", "nope", "a run/tables", "a\0"):
        changed = repack(bare, tmp_path, lambda files, name=name: entity(files, "#run-a%20run", id=f"#run-{name}"))
        with pytest.raises(UserError, match="was changed"):
            check_bundle(changed)
    for mark, new in (
        ("#parley", {"softwareRequirements": 5}),
        ("./", {"hasPart": 5}),
        ("#run-a%20run", {"result": 5}),
    ):
        changed = repack(bare, tmp_path, lambda files, mark=mark, new=new: entity(files, mark, **new))
        with pytest.raises(UserError, match="no RO-Crate of a run"):
            check_bundle(changed)
    for raw in (b"[" * 100_000, b'{"@graph": [{"@id": [1]}]}'):
        with pytest.raises(UserError, match="was changed"):
            check_bundle(repack(bare, tmp_path, lambda files, raw=raw: files.update({METADATA: raw})))


def test_a_bundle_cannot_hide_its_run(bare: Path, tmp_path: Path) -> None:
    """Metadata that name no run would leave tables that were made up unchecked."""
    changed = repack(bare, tmp_path, lambda files: entity(files, "#run-a%20run", **{"@type": "Thing"}))
    with pytest.raises(UserError, match="it names no run"):
        check_bundle(changed)


def test_verify_runs_no_code_that_a_bundle_names(bare: Path, tmp_path: Path) -> None:
    """A record can name a Python file as environment or model; verify must not import it."""
    mark = tmp_path / "ran"
    for file in ("evil.py", "it's evil.py"):
        (tmp_path / file).write_text(f"open({str(mark)!r}, 'w')\n")

        def change(files: dict[str, bytes], file: str = file) -> None:
            first, _, rest = files["a run/record.jsonl"].partition(b"\n")
            header = json.loads(first)
            header["scenario"]["environment"] = f"{tmp_path / file}:Evil"
            files["a run/record.jsonl"] = json.dumps(header).encode() + b"\n" + rest
            digest = hashlib.sha256(files["a run/record.jsonl"]).hexdigest()
            entity(files, "a%20run/record.jsonl", sha256=digest)

        findings = check_bundle(repack(bare, tmp_path, change))
        assert [one.verdict for one in findings] == [SAME, UNKNOWN]
        assert "Parley runs no code" in findings[1].sentence
    assert not mark.exists()


def test_a_zip_made_to_fill_a_disk_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small zip that unpacks to far more than a bundle is refused before it is unpacked."""
    monkeypatch.setattr("parley.analysis.bundles.check.LARGE", 1 << 16)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(METADATA, "{}")
        archive.writestr("a/x", bytes(1 << 20))
    with pytest.raises(UserError, match="do not unpack it"):
        open_bundle(tmp_path / "bomb.zip", tmp_path / "place")
    assert not (tmp_path / "place").exists()


@pytest.mark.thorough
def test_a_bias_card_comes_out_of_its_records_and_a_changed_number_is_found(tmp_path: Path) -> None:
    """Every file of a card comes out of its records and replies again in equal bytes, but for the number that was changed in
    card.json and the line of the judge that was changed; the card was moved before."""
    words = ["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "2", "--set", "rounds=1"]
    assert main([*words, "--sections", "forecast_accuracy,texts", "--out", str(tmp_path / "card")]) == 0
    card = (tmp_path / "card").rename(tmp_path / "a card")
    write_bundle([card], tmp_path / "c.zip")

    def lie(files: dict[str, bytes]) -> None:
        made = json.loads(files["a card/card.json"])
        made["calls"] += 1
        files["a card/card.json"] = (json.dumps(made, indent=1) + "\n").encode()
        name = "a card/batch-1/verdicts/verdicts.csv"
        files[name] = files[name].replace(b"racism", b"Racism", 1)
        relist(files)

    findings = check_bundle(repack(tmp_path / "c.zip", tmp_path, lie))
    assert {one.sentence for one in findings if one.verdict == DIFFERS} == {
        "card.json is not what comes out of the record",
        "batch-1/verdicts/verdicts.csv does not come out of the replies in its journal",
    }
    same = [one.sentence for one in findings if one.verdict == SAME]
    assert "1 of 1 records come out of the replies in their journals" in same
    assert re.search(r"(\d+) of (\d+) tables", same[-1])
    made, every = map(int, re.findall(r"\d+", same[-1]))
    assert made == every - 1 > 8


@pytest.mark.thorough
def test_a_card_of_two_models_and_its_remedies_come_out_of_their_records(tmp_path: Path) -> None:
    """Two speakers in one debate, and a remedy: all records and pages come out again; a changed table of remedies is found."""
    words = [
        "audit",
        "--llm",
        "oracle,kappa=0.1",
        "--llm",
        "first=oracle,pull=0.2",
        "--topic",
        "racism",
        "--blocks",
        "2",
    ]
    more = ["--set", "rounds=1", "--sections", "pull", "--remedies", "reminder", "--out", str(tmp_path / "card")]
    assert main([*words, *more]) == 0
    write_bundle([tmp_path / "card"], tmp_path / "c.zip")
    findings = check_bundle(tmp_path / "c.zip")
    assert {one.verdict for one in findings} == {SAME}
    records, made = (list(map(int, re.findall(r"(\d+) of (\d+)", one.sentence)[0])) for one in findings[1:])
    assert records[0] == records[1] == len(list((tmp_path / "card").rglob("record.jsonl"))) > 4
    assert made[0] == made[1] > 8

    def lie(files: dict[str, bytes]) -> None:
        files["card/remedies.csv"] = files["card/remedies.csv"].replace(b"reminder", b"Reminder", 1)
        relist(files)

    found = check_bundle(repack(tmp_path / "c.zip", tmp_path, lie))
    assert [one.sentence for one in found if one.verdict == DIFFERS] == [
        "remedies.csv is not what comes out of the record"
    ]


def test_a_design_of_another_hand_is_one_line(tmp_path: Path) -> None:
    """A design of a card that is damaged, or that names a folder outside of its own, is refused in one line."""
    good = {"conditions": {"three": 1}, "outside": {}}
    outside = {"stopped": "", "plain": good, "measured": [{"name": "../x", "title": "", "settings": {}, **good}]}
    for text in ["", "[]", "1", "{}", "[" * 50_000, json.dumps({**good, "conditions": {"../x": 1}}),
                 json.dumps({**good, "conditions": {}}), json.dumps({**good, "outside": {"a": "b"}}),
                 json.dumps({**good, "conditions": {"three": 10**9}}), json.dumps({**good, "remedies": outside}),
                 json.dumps({**good, "remedies": 1})]:  # fmt: skip
        (tmp_path / "audit.json").write_text(text)
        with pytest.raises(UserError, match="is not the design of a bias card") as error:
            read_design(tmp_path)
        assert "\n" not in str(error.value)
    (tmp_path / "audit.json").write_text(json.dumps(good))
    assert read_design(tmp_path) == good
