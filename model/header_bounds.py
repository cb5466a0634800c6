"""Bounds on the numbers of a header, which may be of another hand: a record shows how many people and rounds it can have.

All agents are seated, a line each, before anything else happens. So a header with more people than its record has lines is
refused before any of them is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.model.scenario import Scenario

LARGEST = 100_000
"""The largest number in a scenario (rounds, words, tokens), unless its record has more lines."""
_FREE = ("seed",)
"""Fields whose numbers may be of any size."""
_OPTION = re.compile(r"(\w+)=([-+]?[\d.]+(?:e\+?\d+)?)(?![\w.])", re.I)
"""A number among the options of a spec: `poisson,rate=2`."""


def check_header(scenario: Scenario, record: Path) -> None:
    """Check the numbers of a recorded scenario before its people are made. Errors: UserError, in one line."""
    lines = _count_lines(record) if record.is_file() else 0
    check_numbers(scenario.to_dict(), max(lines, LARGEST))
    if lines:
        _check_people(scenario, lines)


def check_numbers(values: Any, most: int = LARGEST, name: str = "number") -> None:
    """Check all numbers in nested values. Errors: UserError at the first beyond `most`, or that is no finite number."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            if key not in _FREE:
                check_numbers(value, most, str(key))
    elif isinstance(values, list | tuple):
        for value in values:
            check_numbers(value, most, name)
    elif isinstance(values, str):
        for option, number in _OPTION.findall(values):
            check_numbers({option: _number(number)}, most)
    elif isinstance(values, int | float) and not -most <= values <= most:
        raise UserError(
            f"the header has {name} = {values:.7g}, but no run of Parley can have this number, so the header was "
            "changed: copy the run from its source again"
        )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # 1.2.3 is a version
        return 0.0


def _check_people(scenario: Scenario, lines: int) -> None:
    counts = {"repetitions": scenario.repetitions, "size": scenario.environment_spec.options.get("size", 0)}
    for name, number in counts.items():
        if number > lines:  # before the groups, which list all seats
            raise _too_many(f"{name} = {number:,}", lines)
    rooms = scenario.repetitions * (
        scenario.subject.episodes if scenario.subject.questions else len(scenario.subject.topic)
    )
    seats = rooms * sum(len(group.seats) for group in scenario.groups)
    if seats > lines:
        raise _too_many(f"{seats:,} agents", lines)


def _too_many(what: str, lines: int) -> UserError:
    return UserError(
        f"the header has {what}, but the record has only {lines:,} lines, although each agent needs at least one "
        "line. The run was stopped before it began, or its header was changed"
    )


def _count_lines(record: Path) -> int:
    with record.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
