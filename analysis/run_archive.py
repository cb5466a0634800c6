"""A run folder as one zip file, with or without its journal."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from parley.llm.errors import UserError
from parley.model.run_folder import LOCK
from parley.model.scenario_run import JOURNAL

DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the zip: the same folder gives the same bytes."""


def write_archive(run: Path, out: Path, journal: bool = True) -> Path:
    """Write a run folder into the zip file `out`; return it. Errors: UserError.

    journal: with `journal.sqlite`, which has every prompt and reply. Without it a run can be read and reported, but neither
    resumed nor branched. Files in it begin with the name of the folder.
    """
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, TemporaryDirectory() as place:
            for path, name in _files(run, Path(place) if journal else None):
                info = zipfile.ZipInfo(f"{run.resolve().name}/{name}", DATE)
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as target:
                    while part := source.read(1 << 20):
                        target.write(part)
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"cannot write the zip of {run}: {error}") from error
    return out


def _files(run: Path, place: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the files of a run with their names in the zip. place: a folder for a copy of the journal; None: without it."""
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run).as_posix()
        if path.is_file() and not path.is_symlink() and name != LOCK and not name.startswith(JOURNAL):
            yield path, name
    if place and (run / JOURNAL).exists():
        copy = place / JOURNAL
        with closing(sqlite3.connect(run / JOURNAL)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)  # whole, also while a run goes on
        yield copy, JOURNAL
