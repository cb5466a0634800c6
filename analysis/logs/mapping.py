"""MAP.toml: how to read a log. Every part is optional, and what a format does not need it ignores.

main = "support"                 # the question that is the attitude (default: the first one with a scale)
society = "us"                   # the topics of the log are topics of this society (default: they are the log's own)
[columns]                        # of a CSV: what it is = the column
agent = "person"
rating = "opinion"
[wide.rating]                    # instead of a column `round`: the column of each round (0: before)
0 = "opinion_pre"
1 = "opinion_post"
[scale]                          # of every question without a scale of its own
low = 1
high = 7
reverse = true                   # 1 is the upper end of the axis
[scales.trust]                   # of one question
low = 0
high = 100
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parley.agents.datafiles import read_toml, require_section
from parley.agents.society import society_folder
from parley.analysis.logs.log import Scale, finite_number
from parley.llm.errors import UserError, unknown_name

COLUMNS = (
    "agent", "room", "round", "rating", "text", "group", "topic", "question", "party", "seat", "model", "reason",
    "attitude", "expected", "probabilities", "form",
)  # fmt: skip
"""What a column of a CSV may be."""
LARGEST = 1e12
"""The ends of a scale lie between -LARGEST and LARGEST."""
KEYS = ("main", "society", "columns", "wide", "scale", "scales")
PAGE = "docs/files.md"


@dataclass(frozen=True)
class LogMap:
    """A MAP.toml. wide: by rating or text, the column of each round."""

    path: Path | None = None
    main: str = ""
    society: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    wide: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    scale: Scale | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def scale_of(self, question: str) -> Scale | None:
        """Return the scale of a question; None if the file has none for it."""
        return self.scales.get(question, self.scale)


def read_map(path: Path | None) -> LogMap:
    """Read a MAP.toml; an empty map without one. Errors: UserError that names the file and the key."""
    if path is None:
        return LogMap()
    values, where = read_toml(path), str(path)
    if unknown := [key for key in values if key not in KEYS]:
        raise unknown_name(f"key of {path}", unknown[0], KEYS)
    columns = require_section(values, "columns", where)
    for name, column in columns.items():
        if name not in COLUMNS:
            raise unknown_name(f"column in [columns] of {path}", name, COLUMNS)
        if not isinstance(column, str) or not column:
            raise UserError(f"{path}: columns.{name} is {column!r}, but must be the name of a column")
    scales = require_section(values, "scales", where)
    return LogMap(
        path,
        _text(values, "main", path),
        _society(values, path),
        columns,
        {
            name: _rounds(rounds, f"wide.{name}", path)
            for name, rounds in require_section(values, "wide", where).items()
        },
        _scale(values["scale"], "scale", path) if "scale" in values else None,
        {name: _scale(scale, f"scales.{name}", path) for name, scale in scales.items()},
    )


def _text(values: Mapping[str, Any], key: str, path: Path) -> str:
    text = values.get(key, "")
    if not isinstance(text, str):
        raise UserError(f"{path}: {key} is {text!r}, but must be a text")
    return text


def _society(values: Mapping[str, Any], path: Path) -> str:
    """Return the society of the map, "" if it names none. Errors: UserError that lists the known ones."""
    if name := _text(values, "society", path):
        try:
            society_folder(name)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
    return name


def _rounds(values: object, key: str, path: Path) -> dict[int, str]:
    if key not in ("wide.rating", "wide.text"):
        raise unknown_name(f"table of {path}", key, ("wide.rating", "wide.text"))
    if not isinstance(values, dict) or not values:
        raise UserError(f'{path}: {key} must be a table such as 0 = "before", 1 = "after"')
    for number, column in values.items():
        if not (str(number).isdecimal() and isinstance(column, str)):
            raise UserError(
                f'{path}: {key} must give a column for each round, such as 1 = "after", not {number} = {column!r}'
            )
    return {int(number): column for number, column in values.items()}


def _scale(values: Any, key: str, path: Path) -> Scale:
    if not isinstance(values, dict):
        raise UserError(f"{path}: {key} must be a table with the keys low and high")
    low, high, reverse = (values.get(name, False) for name in ("low", "high", "reverse"))
    if set(values) - {"low", "high", "reverse"} or not (
        _is_number(low) and _is_number(high) and isinstance(reverse, bool)
    ):
        raise UserError(f"{path}: {key} needs two numbers, low and high (and reverse = true or false)")
    if not low < high:
        raise UserError(f"{path}: {key}.low must be below {key}.high; for a reversed scale write reverse = true")
    return Scale(float(low), float(high), reverse)


def _is_number(value: object) -> bool:
    number = None if isinstance(value, str) else finite_number(value)
    return number is not None and abs(number) <= LARGEST
