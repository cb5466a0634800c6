"""Names for people who read: groups, parties, numbers with intervals; and what keeps text of a model harmless in Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from parley.model.titles import group_title as group_title
from parley.model.titles import join_phrases as join_phrases
from parley.model.titles import seat_title as seat_title
from parley.model.titles import seats_in as seats_in

REFERENCE = "reference"
DASH = "–"
MOST_DIGITS = 6
MARKUP = re.compile(r"([\\`*{}\[\]#|~!]|(?<![^\W_])_|_(?![^\W_]))")
AFTER = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
"""Where a backslash keeps a bare address from becoming a link."""
Column = str | Callable[[Mapping[str, Any]], object]
"""What a table shows in a column: the column of that name in the rows, or what is made of a row."""


def count_phrase(number: int, noun: str) -> str:
    """`1 reply`, `1,200 replies`, `3 lines`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def slug(group: str) -> str:
    """A group's name as a part of a file name."""
    return re.sub(r"\W+", "_", group)


def format_number(value: object, digits: int = 2) -> str:
    """A number for a table; a dash for a missing one; never a minus before zero."""
    if value is None or pd.isna(value):
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}" if isinstance(value, float) else str(value)


def format_estimate(value: float | None, low: float | None, high: float | None, digits: int = 2) -> str:
    """`1.50 (1.20 to 1.80)`; only the number when it has no interval; a dash when there is none.

    More digits where both ends would read the same.
    """
    if DASH in (format_number(value), format_number(low)):
        return format_number(value, digits)
    ends = format_number(low, digits), format_number(high, digits)
    if ends[0] == ends[1] and digits < MOST_DIGITS:
        return format_estimate(value, low, high, digits + 1)
    return f"{format_number(value, digits)} ({ends[0]} to {ends[1]})"


def format_span(low: object, high: object) -> str:
    """`1.20 to 1.80`; a dash where there is no interval."""
    return DASH if DASH in (ends := (format_number(low), format_number(high))) else " to ".join(ends)


def interval_ends(value: str, columns: Container[object]) -> tuple[str, str]:
    """The columns of an interval: `value_low` and `value_high`, or `low` and `high` where there are no such columns."""
    return (f"{value}_low", f"{value}_high") if f"{value}_low" in columns else ("low", "high")


def estimate(value: str, digits: int = 2, factor: float = 1) -> Callable[[Mapping[str, Any]], str]:
    """A column that shows an estimate with its interval, times `factor`."""

    def show(row: Mapping[str, Any]) -> str:
        middle, low, high = (factor * row[name] for name in (value, *interval_ends(value, row)))
        return format_estimate(middle, low, high, digits)

    return show


def number(value: str, digits: int = 2) -> Callable[[Mapping[str, Any]], str]:
    """A column that shows a number with so many digits."""
    return lambda row: format_number(row[value], digits)


def format_range(values: Iterable[int]) -> str:
    """`40`, or `38 to 40` when they differ."""
    known = sorted(set(values))
    return f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}" if known else "0"


def count_table(values: Iterable[object]) -> str:
    """`timeout 3, unreadable 1`, the most frequent first."""
    counts = Counter(map(str, values))
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def strip_controls(text: str) -> str:
    """Text on one line, without control characters, escapes or invisible ones."""
    return "".join(character if character.isprintable() else " " for character in text)


def escape_markdown(text: str) -> str:
    """Text of a model as plain text inside a line of Markdown: no markup, no HTML, no link, no line break."""
    text = MARKUP.sub(r"\\\1", text if text.isprintable() else strip_controls(text))
    text = AFTER.sub(r"\\", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cell(text: str) -> str:
    """Text of a model as a cell of a CSV: with an apostrophe before what a spreadsheet would take for a formula.

    >>> cell("=1+1"), cell("Yes - and no")
    ("'=1+1", 'Yes - and no')
    """
    return f"'{text}" if re.match(r"\s*[=+@-]|[\t\r]", text) else text


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every cell is made harmless, columns of numbers are right-aligned."""
    body = [list(row) for row in rows]
    numeric = [_numeric(column) for column in zip(*body, strict=True)] or [False] * len(header)
    rule = ["---:" if right else "---" for right in numeric]
    lines = [
        [escape_markdown(cell) for cell in header],
        rule,
        *[[escape_markdown(cell) for cell in row] for row in body],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def frame_table(rows: pd.DataFrame | Iterable[Mapping[Any, Any]], columns: Mapping[str, Column]) -> str:
    """A Markdown table with a line a row: headings and what stands under them."""
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return markdown_table(list(columns), [[_shown(row, column) for column in columns.values()] for row in records])


def _shown(row: Mapping[Any, Any], column: Column) -> str:
    return format_number(row[column] if isinstance(column, str) else column(row))


def _numeric(cells: Iterable[str]) -> bool:
    return all(cell == DASH or cell.lstrip("+-")[:1].isdigit() for cell in cells)
