"""Reads a table of the user: a CSV with a header (also as spreadsheets save it), or a file of JSON lines (.jsonl)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.llm.errors import UserError


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the rows as they are: texts of a CSV, values of JSON lines. Errors: UserError for a file that cannot be read."""
    try:
        if path.suffix.lower() == ".jsonl":
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            records: list[Any] = [json.loads(line) for line in lines if line.strip()]
        else:
            records = _read_csv(path).to_dict("records")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not {_form(path)}: {str(error).splitlines()[0]}") from error
    if not all(isinstance(record, dict) for record in records):
        raise UserError(f"{path}: each line must be a JSON object, such as {{...}}")
    return records


def read_texts(path: Path, needed: Sequence[str], page: str) -> pd.DataFrame:
    """Return the rows as texts on one line each; an empty or missing cell is "".

    needed: the columns that the file must have. page: the page of the docs that shows them. Errors: UserError for a file that
    cannot be read, lacks a column or has no rows, and for a value that is a list or an object.
    """
    table = pd.DataFrame(read_records(path), dtype=object)
    if table.empty:
        raise UserError(f"{path} has no rows: give at least one row with {', '.join(needed)} ({page})")
    if lacking := [name for name in needed if name not in table.columns]:
        raise UserError(f"{path} lacks the column {lacking[0]}: it needs {', '.join(needed)} ({page})")
    for name in table.columns:
        for number, value in enumerate(table[name], 1):
            if isinstance(value, list | dict):
                raise UserError(f"{path}, row {number}: {name} must be a text or a number, not a list or an object")
    return table.map(_text)


def _read_csv(path: Path) -> pd.DataFrame:
    """Return the rows as texts. Errors: ValueError, also for a row with more values than the header has columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False)
        except pd.errors.ParserWarning as error:
            raise ValueError("a row has more values than the header has columns") from error


def _form(path: Path) -> str:
    if path.suffix.lower() == ".jsonl":
        return "a file of JSON lines"
    return "a CSV (columns separated by commas, texts with commas in quotation marks)"


def _text(value: object) -> str:
    return "" if value is None or value != value else " ".join(str(value).split())
