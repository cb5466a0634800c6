"""Tables of users as data frames: what every command reads with (docs/files.md; llm/user_file.py is the reader)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from parley.llm.errors import UserError
from parley.llm.user_file import read_user_table

Ends = Mapping[str, tuple[float, float]]


def read_table(
    path: Path,
    needed: Sequence[str],
    page: str,
    *,
    filled: Collection[str] = (),
    numbers: Collection[str] | Callable[[str], bool] = (),
    ends: Ends = MappingProxyType({}),
    only: Collection[str] = (),
    advice: str = "",
) -> pd.DataFrame:
    """Return a table of the user, one row per row of the file; its index is the row's number there (the header is row 1).

    needed: the columns that the file must have; it may have more. page: of the docs, for messages. filled: columns of which
    no value may be missing. numbers: columns of numbers; ends: the lowest and the highest number of a column, and advice:
    what to do about a number beyond them. All other columns are texts on one line each. A missing text is "", a missing
    number NaN. only: the columns that are read, where the file has them (default: all).

    Errors: UserError that names the file, the row and the column.
    """
    table = read_user_table(path, needed, page)
    is_number = numbers if callable(numbers) else numbers.__contains__
    columns: dict[str, Any] = {}
    for name in [name for name in table.columns if name in only] if only else table.columns:
        if name in ends or is_number(name):
            columns[name] = table.numbers(name, *ends.get(name, (-math.inf, math.inf)), advice)
        else:
            columns[name] = table.texts(name, key=name in filled)
    frame = pd.DataFrame(columns, index=pd.Index(table.rows), dtype=object)
    for name in filled:
        if (empty := (frame[name] == "") | frame[name].isna()).any():
            raise UserError(f"{path}, row {empty.idxmax()}: {name} is empty: give it in each row ({page})")
    return frame.astype({name: "float64" for name in frame if name in ends or is_number(name)})


def read_records(path: Path, page: str = "") -> dict[int, dict[str, Any]]:
    """Return each row by its number, with values as the file has them: texts of a CSV, any value of JSON lines.

    Errors: UserError for a file that cannot be read.
    """
    table = read_user_table(path, (), page)
    values = zip(*table.columns.values(), strict=True)
    return {row: dict(zip(table.columns, cells, strict=True)) for row, cells in zip(table.rows, values, strict=True)}
