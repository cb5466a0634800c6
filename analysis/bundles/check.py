"""Checks a bundle: the seal, the hash of every file, and whether tables, figures and pages come out of the record again."""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parley.analysis.bundles.bundle import SEAL, SEALED, all_versions, can_derive_prompts, computed_seal, digest_file
from parley.analysis.bundles.crate import METADATA, SOFTWARE, crate_fault, listed_files, run_folders
from parley.analysis.bundles.prompts import PROMPTS, write_prompts
from parley.analysis.bundles.studies import StudyFolder, find_kind
from parley.analysis.card.derivation import is_same
from parley.analysis.formatting import count_phrase, strip_controls
from parley.analysis.run_report import SUMMARY, write_report
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.llm.trust import refuse_named
from parley.model.arguments import prices_from_args
from parley.model.branching import recorded_scenario
from parley.model.events import Header
from parley.model.files import JOURNAL
from parley.model.scenario_run import record_of
from parley.model.sent_requests import first_difference

DERIVED = ("tables/", "figures/", SUMMARY, "transcript.md", PROMPTS)
"""Beginnings of the names of files that come out of the record."""
PICTURES = (".png", ".svg", ".pdf")
BROKEN = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError, EOFError, KeyError)
"""What Python raises for a zip whose bytes were changed."""
LARGE, RATIO = 1 << 28, 200
"""A zip that unpacks to more than LARGE bytes and to more than RATIO times its own size is not unpacked."""
SAME, DIFFERS, UNKNOWN = "same", "differs", "unknown"


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: the run, the verdict (same, differs, unknown), and a sentence."""

    run: str
    verdict: str
    sentence: str


def open_bundle(path: Path, place: Path, expected: str = "") -> dict[str, Any]:
    """Check seal and hashes of a bundle, unpack it into the folder `place`, and return its metadata.

    expected: the seal that its author published ("": not checked). Errors: UserError, one line, for anything that was changed.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            _check_names(path, names)
            _check_size(path, sum(member.file_size for member in archive.infolist()))
            archive.extractall(place)
    except BROKEN as error:
        raise UserError(f"{path} was changed or is no bundle: {error}") from error
    crate = _read_crate(path, place)
    _check_hashes(path, place, names, listed_files(crate))
    _check_seal(path, expected)
    return crate


def _check_names(path: Path, names: list[str]) -> None:
    if METADATA not in names:
        raise UserError(f"{path} is no bundle: it has no {METADATA} (run.py export bundle writes one)")
    twice = {name for name, count in Counter(names).items() if count > 1}
    for name in names:
        odd = name.startswith("/") or name.endswith("/") or ".." in Path(name).parts or strip_controls(name) != name
        if odd or name in twice:
            raise UserError(f"{path} has a file named {name!r}, which no bundle has: do not unpack it")


def _check_size(path: Path, unpacked: int) -> None:
    """Refuse a zip made to fill a disk."""
    if unpacked > max(LARGE, RATIO * path.stat().st_size):
        raise UserError(f"{path} unpacks to {unpacked:,} bytes, far more than a bundle of its size: do not unpack it")


def _read_crate(path: Path, place: Path) -> dict[str, Any]:
    try:
        crate = json.loads((place / METADATA).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} was changed: {METADATA} cannot be read ({error})") from error
    if fault := crate_fault(crate):
        raise UserError(f"{path} was changed: {METADATA} is no RO-Crate of a run ({fault})")
    return dict(crate)


def _check_hashes(path: Path, place: Path, names: list[str], listed: dict[str, str]) -> None:
    there = {name for name in names if name != METADATA}
    if missing := sorted(listed.keys() - there):
        raise UserError(f"{path} was changed: {missing[0]} is missing")
    if added := sorted(there - listed.keys()):
        raise UserError(f"{path} was changed: {added[0]} is not listed in {METADATA}")
    for name in sorted(listed):
        if digest_file(place / name) != listed[name]:
            raise UserError(f"{path} was changed: {name} does not have the SHA-256 of {METADATA}")


def _check_seal(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        file.seek(-min(len(SEAL) + SEALED, path.stat().st_size), 2)
        tail = file.read()
    computed = computed_seal(path)
    if tail != SEAL + computed.encode():
        raise UserError(f"{path} was changed: its bytes do not have the seal at its end")
    if expected and expected.lower().removeprefix("sha256:") != computed:
        raise UserError(f"{path} is another bundle: its seal is {computed}, not {expected}")


def check_bundle(path: Path, expected: str = "") -> list[Finding]:
    """Check a bundle and derive it again; return what was found. Nothing is asked of a model. Errors: as for `open_bundle`."""
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        place, again = Path(first), Path(second)
        crate = open_bundle(path, place, expected)
        size = len(listed_files(crate))
        findings = [Finding("", SAME, f"the seal fits, and {count_phrase(size, 'file')} have their SHA-256")]
        runs = run_folders(crate)
        for name in runs:
            if find_kind(place / name):
                (again / name).mkdir()
            else:
                shutil.copytree(place / name, again / name, ignore=_ignore_derived(place / name))
        try:
            for name in runs:
                folders, versions = (place / name, again / name), _other_versions(crate)
                kind = find_kind(place / name)
                findings += check_study(kind, *folders, versions) if kind else check_run(*folders, versions)
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # a record of another hand
            raise UserError(f"{path} has a record that Parley does not write: {name}, {error!r}") from error
        return findings


def _ignore_derived(run: Path) -> Any:
    """Return what leaves derived files of a run out of its copy."""

    def ignored(folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(run).as_posix().removeprefix(".")
        return [name for name in names if not inside and (name in DERIVED or f"{name}/" in DERIVED)]

    return ignored


def _other_versions(crate: dict[str, Any]) -> str:
    """Return the first package whose version differs from that of a bundle, as a phrase; "" if all are the same."""
    (software,) = [entity for entity in crate["@graph"] if entity["@id"] == SOFTWARE]
    theirs = dict(str(requirement).rpartition(" ")[::2] for requirement in software["softwareRequirements"])
    ours = all_versions()
    differing = [
        f"{name} {version} there, {ours.get(name, 'none')} here"
        for name, version in theirs.items()
        if ours.get(name) != version
    ]
    return differing[0] if differing else ""


def check_run(run: Path, again: Path, versions: str) -> Iterator[Finding]:
    """Yield what is found in an unpacked run. again: a copy without derived files; versions: what differs, as a phrase."""
    tables = load(again)
    try:
        _refuse_code(tables.header, run.name)
    except UserError as error:
        yield Finding(run.name, UNKNOWN, f"whether record, tables and figures come out again is unknown: {error}")
        return
    yield _check_replies(run)
    if tables.header.is_log:
        write_report(again)
    else:
        options = argparse.Namespace(price=None, prices=None)
        write_report(again, prices_from_args(options, recorded_scenario(tables.header, again)))
    if (run / PROMPTS).exists() and can_derive_prompts(tables, again):
        write_prompts(again, again / PROMPTS)
    yield from compare_files(run, again, versions)


def check_study(kind: StudyFolder, study: Path, again: Path, versions: str) -> Iterator[Finding]:
    """Yield what is found in an unpacked bias card or claim. again: an empty folder; versions: what differs, as a phrase."""
    start = f"whether the {kind.noun} comes out of its records again is unknown"
    try:
        refuse_named(kind.settings(study), study.name, servers=False)
        folders = kind.folders(study)  # building them may load what the design names
        for folder in folders:
            _refuse_code(load(folder).header, f"{study.name}/{folder.name}")
        yield from _check_records(study, folders)
        yield from (
            Finding(study.name, DIFFERS, f"{name} does not come out of the replies in its journal")
            for name in kind.derive(study, again)
        )
    except UserError as error:
        yield Finding(study.name, UNKNOWN, f"{start}: {error}")
        return
    yield from compare_derived(study.name, kind.files(study), kind.files(again), versions)


def _refuse_code(header: Header, source: str) -> None:
    """Errors: UserError where the header of a run names code that the user has not named."""
    refuse_named([header.scenario, header.model, header.branch], source, servers=False)


def _check_records(study: Path, folders: Sequence[Path]) -> Iterator[Finding]:
    """Yield whether the records of a study come out of their replies, each that does not by name."""
    checks = [(folder.relative_to(study).as_posix(), _check_replies(folder)) for folder in folders]
    same = sum(check.verdict == SAME for _, check in checks)
    yield Finding(study.name, SAME, f"{same} of {len(checks)} records come out of the replies in their journals")
    yield from (
        Finding(study.name, check.verdict, f"{name}: {check.sentence}")
        for name, check in checks
        if check.verdict != SAME
    )


def _check_replies(run: Path) -> Finding:
    """Return whether the raw replies give the record."""
    if not (run / JOURNAL).exists():
        return Finding(run.name, UNKNOWN, "whether the replies give the record is unknown: there is no journal")
    try:
        line = first_difference(record_of(run))
    except UserError as error:
        return Finding(run.name, UNKNOWN, f"whether the replies give the record is unknown: {error}")
    if line:
        return Finding(run.name, DIFFERS, f"line {line} of the record does not come out of the replies in its journal")
    return Finding(run.name, SAME, "every line of the record comes out of the replies in its journal")


def compare_files(run: Path, again: Path, versions: str) -> Iterator[Finding]:
    """Yield which derived files differ, then how many are the same, and how many were not derived again."""
    yield from compare_derived(run.name, _derived(run), _derived(again), versions)


def compare_derived(run: str, theirs: Mapping[str, Path], ours: Mapping[str, Path], versions: str) -> Iterator[Finding]:
    """Yield the same for files by name. run: the name of the run or card."""
    same = 0
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in ours:
            continue
        if name not in theirs:
            yield Finding(run, DIFFERS, f"{name} comes out of the record and is not in the bundle")
        elif is_same(theirs[name], ours[name]):
            same += 1
        elif versions and theirs[name].suffix in PICTURES:
            yield Finding(run, UNKNOWN, f"whether {name} is the same figure is unknown: {versions}")
        else:
            why = f" ({versions})" if versions else ""
            yield Finding(run, DIFFERS, f"{name} is not what comes out of the record{why}")
    yield Finding(run, SAME, f"{same} of {len(ours)} tables, figures and pages come out of the record again")
    if rest := sorted(theirs.keys() - ours.keys()):
        more = f" ({count_phrase(len(rest) - 1, 'further file')} like it)" if len(rest) > 1 else ""
        yield Finding(
            run, UNKNOWN, f"whether {rest[0]} comes out of the record is unknown: the report has no such file{more}"
        )


def _derived(run: Path) -> dict[str, Path]:
    paths = (path for path in run.rglob("*") if path.is_file())
    named = {path.relative_to(run).as_posix(): path for path in paths}
    return {name: path for name, path in named.items() if name.startswith(DERIVED)}
