"""The differences that a claim rests on: the outcome in the first arm minus that in the second, one per unit."""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from parley.analysis.formatting import count_phrase
from parley.analysis.outcomes import PLUS
from parley.analysis.studies.paired_conditions import PAIR

UNITS = [
    *PAIR, "seed", "people", "seated_first", "seated_second", "first", "second", "difference", "reason",
    "start_first", "start_second",
]  # fmt: skip


class ArmValue(NamedTuple):
    """The outcome of a unit in one arm (NaN: missing, with the reason), its people, its rooms in words, and its first survey."""

    value: float
    reason: str
    people: frozenset[str]
    seated: str = ""
    start: float = math.nan


NO_ROOM = ArmValue(math.nan, "one condition has no such room", frozenset())
SHOWN = 3
"""Groups of agents that are named."""


def pair_rooms(first: pd.DataFrame, second: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return first minus second for one specification: a row per unit with the columns UNITS.

    first, second: the rooms of each arm (`Outcome.measure`). The unit is a topic, a group of people (the repetition) and a seed,
    with one room in each arm. An arm with several groups of agents counts with their mean. difference: NaN, with the reason,
    where an arm has no number. A unit that only one arm has is such a row too. people: the personas of the unit in either arm.
    start_first, start_second: the outcome at the first survey. seated_first, seated_second: the rooms of each arm in words.
    """
    sides = _units(first), _units(second)
    rows = []
    for key in sorted({*sides[0], *sides[1]}):
        first_arm, other = (side.get(key, NO_ROOM) for side in sides)
        people = PLUS.join(sorted({*first_arm.people, *other.people}))
        values = (
            first_arm.value,
            other.value,
            first_arm.value - other.value,
            _why(first_arm.reason, other.reason),
            first_arm.start,
            other.start,
        )
        rows.append((*key, seed, people, first_arm.seated, other.seated, *values))
    return pd.DataFrame(rows, columns=UNITS)


def _why(first: str, second: str) -> str:
    """Return in which arm a number is missing, and why; "" where none is.

    >>> _why("", "a rating is missing"), _why("no room", "no room"), _why("no room", "a rating is missing")
    ('second arm: a rating is missing', 'both arms: no room', 'first arm: no room; second arm: a rating is missing')
    """
    if first and first == second:
        return f"both arms: {first}"
    return "; ".join(f"{arm} arm: {why}" for arm, why in (("first", first), ("second", second)) if why)


def _units(rooms: pd.DataFrame) -> dict[tuple[str, int], ArmValue]:
    """Return the mean of the rooms of each unit (NaN where one of them has no number), why it is missing, and the people."""
    units: dict[tuple[str, int], ArmValue] = {}
    for key, unit_rooms in rooms.groupby(PAIR, sort=False):
        people = {person for several in unit_rooms["people"] for person in several.split(PLUS)}
        value, start = (float(unit_rooms[name].mean(skipna=False)) for name in ("value", "start"))
        reason = next(filter(None, unit_rooms["reason"]), "")
        units[str(key[0]), int(key[1])] = ArmValue(value, reason, frozenset(people), _seated(unit_rooms), start)
    return units


def _seated(rooms: pd.DataFrame) -> str:
    """Return the rooms of a unit in words: `2 rooms of 3 agents (a+a+b, b+b+a)`."""
    sizes = sorted(set(rooms["seats"]))
    agents = count_phrase(sizes[0], "agent") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} agents"
    groups = list(dict.fromkeys(rooms["group"]))
    named = f" ({', '.join(groups)})" if 0 < len(groups) <= SHOWN and all(groups) else ""
    return f"{count_phrase(len(rooms), 'room')} of {agents}{named}"
