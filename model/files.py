"""Writes files, and turns errors of the operating system into a UserError of one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parley.llm.errors import UserError

JOURNAL, RECORD, PARTIAL = "journal.sqlite", "record.jsonl", "record.partial.jsonl"
"""The files of a run folder: the replies, the record, and the record of a run that has not ended."""
UNWRITTEN = ".tmp"
"""The ending of a file that is being written."""


@contextmanager
def file_errors(what: str, advice: str = "") -> Iterator[None]:
    """Raise an OSError as a UserError: `cannot write runs/a: No space left on device`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {error.strerror or error}{advice}") from error


def write_whole(path: Path, text: str) -> None:
    """Write a small file completely or not at all. Errors: UserError."""
    temporary = path.with_name(path.name + UNWRITTEN)
    with file_errors(f"cannot write {path}"):
        try:
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def changed_at(path: Path) -> float:
    """Return when a file or folder was last changed, in seconds; 0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
