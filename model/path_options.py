"""The readers of paths that a command is given: of a run, of a file, of a folder for results."""

from __future__ import annotations

import argparse
from pathlib import Path

from parley.llm.errors import UserError
from parley.llm.user_file import file_spec
from parley.model.files import PARTIAL, RECORD


def recorded_run(text: str) -> Path:
    """Read the folder or the record of a run. So a wrong one is refused before what reads it is imported, which takes seconds.

    Errors: UserError where there is no record.
    """
    path = Path(text)
    if path.is_dir() and not any((path / name).is_file() for name in (RECORD, PARTIAL)):
        if inner := next(path.rglob(RECORD), None):
            raise UserError(f"{path} has several runs: give one of them, such as {inner.parent}")
        raise UserError(f"{path} is not the folder of a run: it has no {RECORD}")
    if not path.exists():
        raise UserError(f"cannot read the record {path}, because there is no such file")
    return path


def given_file(text: str) -> Path:
    """Read the path of a file that is there. Errors: UserError where there is none."""
    path = Path(text)
    if not path.is_file():
        raise UserError(f"cannot read {path}: {'it is a folder' if path.exists() else 'there is no such file'}")
    return path


def result_folder(text: str) -> Path:
    """Read the path of a folder for results, which may not be there yet."""
    path = Path(text)
    there = next((folder for folder in (path, *path.parents) if folder.exists()), path)
    if there.exists() and not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is a file: name a folder")
    return path


def folder_beside(file: Path) -> Path:
    """Return the folder of results of a user's file: its path without the ending. Errors: UserError if that is a file."""
    folder = file_spec(file).path.with_suffix("")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, so the results need another folder: give --out FOLDER")
    return folder
