"""Numbers, names and escaping for Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

REFERENCE = "reference"
DASH = "–"
MOST_DIGITS = 6
MARKUP = re.compile(r"([\\`*{}\[\]#|~!]|(?<=\])\(|(?<![^\W_])_|_(?![^\W_]))")
SENTENCE_END = re.compile(r"(?:(?<=[.!?])(?<!al\.)|(?<=[.!?]\*\*)|(?<=[.!?][”)])|(?<=[.!?]\)\*\*))\s+(?=[\W\dA-ZÄÖÜ])")
"""Between two sentences."""
AFTER = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
"""Positions where a backslash prevents a link from a bare address."""
Column = str | Callable[[Mapping[str, Any]], object]
"""A column of a table: the name of a column of the rows, or a function of a row."""


def count_phrase(number: int, noun: str) -> str:
    """Return `1 reply`, `1,200 replies`, `3 lines`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind those that come more than once: `a 1`, `a 2`."""
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} {seen[name]}" if names.count(name) > 1 else name)
    return unique


def slug(group: str) -> str:
    """Return a group's name as a part of a file name."""
    return re.sub(r"\W+", "_", group)


def format_number(value: object, digits: int = 2) -> str:
    """Return a number for a table; a dash for a missing one; never a minus before zero."""
    if value is None or pd.isna(value):
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}" if isinstance(value, float) else str(value)


def format_p(p: float) -> str:
    """Return a p for a reader; a dash for a missing one.

    >>> format_p(0.0213), format_p(0.0004), format_p(float("nan"))
    ('0.021', 'below 0.001', '–')
    """
    return "below 0.001" if p < 0.001 else format_number(float(p), 3)


def format_estimate(value: float | None, low: float | None, high: float | None, digits: int = 2) -> str:
    """Return `1.50 (1.20 to 1.80)`; only the number without an interval; a dash without a number.

    A number that is small has more digits, up to two that count. An interval that is narrower than the last digit is said to be
    within it, and one of no width is left out.

    >>> format_estimate(0.0012, 0.0011, 0.0013), format_estimate(0.33317, 0.33317, 0.33318)
    ('0.0012 (0.0011 to 0.0013)', '0.33 (within 0.01)')
    """
    middle, low_, high_ = (format_number(number, digits) for number in (value, low, high))
    if DASH in (middle, low_) or low == high:
        return middle
    if low_ != high_:
        return f"{middle} ({low_} to {high_})"
    if digits < MOST_DIGITS and max(abs(float(low or 0)), abs(float(high or 0))) < 10 ** (1 - digits):
        return format_estimate(value, low, high, digits + 1)
    return f"{middle} (within {10**-digits:g})"


def format_span(low: object, high: object) -> str:
    """Return `1.20 to 1.80`; a dash without an interval."""
    return DASH if DASH in (ends := (format_number(low), format_number(high))) else " to ".join(ends)


def interval_ends(value: str, columns: Container[object]) -> tuple[str, str]:
    """Return the columns of an interval: `value_low` and `value_high` if there are such columns, else `low` and `high`."""
    return (f"{value}_low", f"{value}_high") if f"{value}_low" in columns else ("low", "high")


def estimate(value: str, digits: int = 2, factor: float = 1) -> Callable[[Mapping[str, Any]], str]:
    """Return a column that shows an estimate with its interval, times `factor`."""

    def show(row: Mapping[str, Any]) -> str:
        middle, low, high = (factor * row[name] for name in (value, *interval_ends(value, row)))
        return format_estimate(middle, low, high, digits)

    return show


def number(value: str, digits: int = 2) -> Callable[[Mapping[str, Any]], str]:
    """Return a column that shows a number with `digits` digits."""
    return lambda row: format_number(row[value], digits)


def format_range(values: Iterable[int]) -> str:
    """Return `40`, or `38 to 40` when they differ."""
    ends = sorted(set(values)) or [0]
    return " to ".join(map(str, dict.fromkeys((ends[0], ends[-1]))))


def count_table(values: Iterable[object]) -> str:
    """Return `timeout 3, unreadable 1`, the most frequent first."""
    counts = Counter(map(str, values))
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def strip_controls(text: str) -> str:
    """Return text on one line, without control characters, escapes or invisible ones."""
    return "".join(character if character.isprintable() else " " for character in text)


def escape_markdown(text: str) -> str:
    """Return text of a model as plain text for a line of Markdown: no markup, no HTML, no link, no line break."""
    text = MARKUP.sub(r"\\\1", text if text.isprintable() else strip_controls(text))
    text = AFTER.sub(r"\\", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; every cell is escaped, columns of numbers are right-aligned."""
    body = list(rows)
    numeric = [all(map(_is_number, column)) for column in zip(*body, strict=True)] or [False] * len(header)
    head, *lines = ([escape_markdown(cell) for cell in row] for row in [header, *body])
    rule = ["---:" if right else "---" for right in numeric]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def frame_table(rows: pd.DataFrame | Iterable[Mapping[Any, Any]], columns: Mapping[str, Column]) -> str:
    """Return a Markdown table with a line per row. columns: the headings, each with its column."""
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    return markdown_table(list(columns), [list(frame_cells(row, columns)) for row in records])


def frame_cells(row: Mapping[Any, Any], columns: Mapping[str, Column]) -> Iterator[str]:
    """Yield the cells of a row for readers. columns: the headings, each with its column."""
    for column in columns.values():
        yield format_number(row[column] if isinstance(column, str) else column(row))


def _is_number(cell: str) -> bool:
    return cell == DASH or cell.lstrip("+-")[:1].isdigit()


def format_feelings(rows: Iterable[dict[Any, Any]]) -> list[tuple[dict[Any, Any], str]]:
    """Return the first row of each agent with its ratings of emotion in words; a missing one by its reason.

    >>> [(_, text)] = format_feelings([{"agent": 1, "probe": "valence", "rating": 4.0, "reason": None}])
    >>> text
    'valence 4'
    """
    people: dict[int, list[dict[Any, Any]]] = {}
    for row in rows:
        people.setdefault(row["agent"], []).append(row)
    return [(agent_rows[0], ", ".join(map(_feeling, agent_rows))) for agent_rows in people.values()]


def _feeling(row: dict[Any, Any]) -> str:
    if pd.isna(row["rating"]):
        return f"{row['probe']} – ({row['reason']})"
    return f"{row['probe']} {row['rating']:g}"


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text in Markdown.

    >>> sentences_of("**Up.** It rose by 0.4 (Hobolt et al. 2023). 3 of 4 fell.")
    ['**Up.**', 'It rose by 0.4 (Hobolt et al. 2023).', '3 of 4 fell.']
    >>> len(sentences_of("**Do they? (Chambers: below.)** They do."))
    3
    """
    return SENTENCE_END.split(text.strip()) if text.strip() else []


def chance_note(intervals: int) -> str:
    """Return how many of so many 95% intervals (or tests at 5%) on a page mislead by chance; below one, that all may hold.

    >>> chance_note(60).partition("chance. ")[2]
    'Expect about 3 of 60 intervals in this report to miss the true value.'
    >>> chance_note(5)
    'Of 100 intervals, about five miss the true value by chance. All 5 intervals in this report may well contain the true value.'
    """
    missed = f"Expect about {0.05 * intervals:.0f} of {intervals:,} intervals in this report to miss the true value."
    here = (
        missed
        if intervals >= 20
        else f"All {intervals} intervals in this report may well contain the true value."
        if intervals > 1
        else ""
    )
    return f"Of 100 intervals, about five miss the true value by chance. {here}".strip()


def count_intervals(*frames: pd.DataFrame) -> int:
    """Return how many numbers of tables have an interval, or a p alone.

    >>> count_intervals(pd.DataFrame({"win": [1.0, 2.0], "win_low": [0.5, None], "p": [0.1, 0.2]}))
    1
    """
    count = 0
    for frame in frames:
        ends = [name for name in frame if str(name) == "low" or str(name).endswith("_low")]
        count += int(frame[ends or [name for name in frame if name == "p"]].notna().to_numpy().sum())
    return count


def uncorrected(*frames: pd.DataFrame) -> str:
    """Return that the intervals of these tables are not corrected for their number, and how many mislead; "" of none."""
    count = count_intervals(*frames)
    return f"Intervals and p are not corrected for multiple comparisons. {chance_note(count)}" if count else ""


def plain_lines(markdown: str) -> list[str]:
    """Return the lines of a text or a list in Markdown as plain texts."""
    return [plain(line.removeprefix("- ")) for line in markdown.split("\n") if line]


def plain(markdown: str) -> str:
    """Return the text of a line of Markdown. What was escaped comes out as it was.

    >>> plain(r"**Ann** said \\*no\\* &lt;b&gt; `x`")
    'Ann said *no* <b> x'
    """
    from markdown_it import MarkdownIt

    (line,) = MarkdownIt("commonmark", {"html": False}).parseInline(markdown)
    return "".join(" " if token.type.endswith("break") else token.content for token in line.children or [])
