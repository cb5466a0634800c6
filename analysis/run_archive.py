"""A run folder as one zip file, with or without its journal."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from parley.llm.errors import UserError
from parley.model.files import JOURNAL
from parley.model.run_folder import LOCK

BESIDE = ("-wal", "-shm")
"""Ends of the files that SQLite keeps next to a journal while it is open."""
DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the zip: the same folder gives the same bytes."""


def write_archive(run: Path, out: Path, journal: bool = True) -> Path:
    """Write a run folder into the zip file `out`; return it. Errors: UserError.

    journal: with `journal.sqlite`, which has every prompt and reply. Without it a run can be read and reported, but neither
    resumed nor branched. Files in it begin with the name of the folder.
    """
    with archive_errors(run), TemporaryDirectory() as place:
        files = run_files(run, Path(place) if journal else None)
        return write_zip(out, ((path, f"{run.resolve().name}/{name}") for path, name in files))


@contextmanager
def archive_errors(run: Path) -> Iterator[None]:
    """Turn errors of the disk and of SQLite into a UserError."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"cannot write the zip of {run}: {error}") from error


def write_zip(out: Path, files: Iterable[tuple[Path, str]]) -> Path:
    """Write files under these names into the zip `out`; return it. The same files give the same bytes."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, name in files:
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as target:
                while chunk := source.read(1 << 20):
                    target.write(chunk)
    return out


def run_files(run: Path, place: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the files of a run with their names in its folder. place: for a copy of the journal; None: without the journal."""
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run).as_posix()
        belongs = path.name != LOCK and not name.startswith(JOURNAL) and not path.name.endswith(BESIDE)
        if path.is_file() and not path.is_symlink() and belongs:
            yield path, name
    if place and (run / JOURNAL).exists():
        copy = place / JOURNAL
        with closing(sqlite3.connect(run / JOURNAL)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)  # whole, also while a run goes on
        yield copy, JOURNAL
