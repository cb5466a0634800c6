"""A sealed bundle gives back what was put in, refuses a changed byte, and shows what does not come out of a record."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.analysis.bundles.bundle import computed_seal, seal, write_bundle
from parley.analysis.bundles.check import DIFFERS, SAME, UNKNOWN, check_bundle, open_bundle
from parley.analysis.bundles.crate import METADATA, CrateRun, crate_fault, describe_crate, listed_files
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
