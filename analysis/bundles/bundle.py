"""Writes a sealed bundle: runs with prompts, raw replies, tables and figures as one RO-Crate in a zip, with hashes.

The last 64 characters of the zip are its seal: the SHA-256 of all bytes before them. So one changed byte anywhere is noticed.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from parley.analysis.bundles.crate import METADATA, CrateFile, CrateRun, describe_crate
from parley.analysis.bundles.prompts import PROMPTS, write_prompts
from parley.analysis.bundles.studies import StudyFolder, designs, find_kind
from parley.analysis.provenance import experiment_title, rerun_command
from parley.analysis.run_archive import archive_errors, run_files, write_zip
from parley.analysis.run_report import SUMMARY, write_report
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.llm.journal import query
from parley.model.files import JOURNAL, file_errors
from parley.model.run_folder import package_versions
from parley.model.scenario_run import record_of

SEAL = b"sha256:"
SEALED = 64
"""Characters of the seal, at the end of the zip's comment."""
DRAWING = ("pandas", "pyarrow", "matplotlib")
"""Packages, besides those of a record, on which the bytes of tables and figures depend."""


def write_bundle(runs: Sequence[Path], out: Path, author: str = "", licence: str = "") -> str:
    """Write runs into the bundle `out`; return its seal. A run without a summary gets its report first.

    The same folders give the same bytes. Errors: UserError for a folder that is no run, and two folders of one name.
    """
    names = [run.resolve().name for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two of the runs are in folders named {twice[0]}: rename one of them, and repeat the command")
    described = [describe_run(run) for run in runs]
    with file_errors(f"cannot write {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
    with archive_errors(runs[0]), TemporaryDirectory() as place:
        paths = [pair for run in runs for pair in bundled_files(run, Path(place) / run.resolve().name)]
        files = [CrateFile(name, path.stat().st_size, digest_file(path)) for path, name in paths]
        crate = describe_crate(files, described, all_versions(), author, licence)
        page = Path(place) / METADATA
        page.write_text(json.dumps(crate, indent=1) + "\n", encoding="utf-8")
        write_zip(out, [(page, METADATA), *paths])
        return seal(out)


def describe_run(run: Path) -> CrateRun:
    """Return what a crate says of a run, a bias card or a claim; a run without a summary gets its report first.

    Errors: UserError without results.
    """
    if kind := find_kind(run):
        return describe_study(run, kind)
    if not run.is_dir() or not record_of(run).exists():
        files = ", ".join(("record.jsonl", *designs()))
        raise UserError(f"{run} is not the folder of a run, a bias card or a claim: it has none of {files}")
    tables = load(run)
    if not (run / SUMMARY).exists():
        write_report(run)
    started, ended = _times(run)
    title, command = experiment_title(tables.header), rerun_command(tables.header) or ""
    return CrateRun(run.resolve().name, title, command, started, ended, tables.finished)


def describe_study(folder: Path, kind: StudyFolder) -> CrateRun:
    """Return what a crate says of a bias card or a claim: it began with its first run and ended with the last."""
    times = [_times(run) for run in kind.folders(folder)]
    started, ended = min(first for first, _ in times), max(last for _, last in times)
    return CrateRun(folder.resolve().name, kind.title(folder), "", started, ended, not kind.stopped(folder))


def _times(run: Path) -> tuple[str, str]:
    """Return when a run began and ended: from its journal, else when its record was written."""
    rows: list[tuple[float, float]] = []
    if (run / JOURNAL).exists():
        rows = query(run / JOURNAL, "SELECT started, started + COALESCE(seconds, 0) FROM sittings ORDER BY started")
    written = record_of(run).stat().st_mtime
    first, last = (rows[0][0], max(row[1] for row in rows)) if rows else (written, written)
    begin, end = (datetime.fromtimestamp(int(time), UTC).isoformat() for time in (first, last))
    return begin, end


def bundled_files(run: Path, place: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a run with their names in the zip. place: a folder for copies, which is made."""
    place.mkdir()
    name = run.resolve().name
    for path, inside in run_files(run, place):
        if inside != PROMPTS:
            yield path, f"{name}/{inside}"
    if not find_kind(run) and can_derive_prompts(load(run), run):
        yield write_prompts(run, place / PROMPTS), f"{name}/{PROMPTS}"


def can_derive_prompts(tables: Tables, run: Path) -> bool:
    """Return whether this version of Parley can derive the prompts of a run: it has a journal, and no class of the user."""
    return (run / JOURNAL).exists() and not tables.header.scenario.get("agent_class")


def all_versions() -> dict[str, str]:
    """Return the versions of the packages on which records, tables and figures depend."""
    drawing = {name: metadata.version(name) for name in DRAWING}
    return {**package_versions(), **drawing}


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(path: Path) -> str:
    """Write the seal at the end of a zip; return it."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = SEAL + b"0" * SEALED
    digest = computed_seal(path)
    with path.open("r+b") as file:
        file.seek(-SEALED, 2)
        file.write(digest.encode())
    return digest


def computed_seal(path: Path) -> str:
    """Return the SHA-256 of all bytes of a file but the last 64, in hex."""
    digest, left = hashlib.sha256(), max(path.stat().st_size - SEALED, 0)
    with path.open("rb") as file:
        while left and (chunk := file.read(min(left, 1 << 20))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()
