"""The differences that a claim rests on: the outcome in the first arm minus that in the second, one per unit."""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from parley.analysis.claims.outcomes import PLUS, Outcome
from parley.analysis.studies.paired_conditions import PAIR
from parley.analysis.tables import Tables

UNITS = [*PAIR, "seed", "people", "first", "second", "difference", "reason"]


class ArmValue(NamedTuple):
    """The outcome of a unit in one arm (NaN: missing, with the reason), and its people."""

    value: float
    reason: str
    people: frozenset[str]


NO_ROOM = ArmValue(math.nan, "one arm has no such room", frozenset())


def unit_differences(first: Tables, second: Tables, outcome: Outcome) -> pd.DataFrame:
    """Return first minus second for one specification: a row per unit with the columns UNITS.

    The unit is a topic, a group of people (the repetition) and a seed, with one room in each arm. An arm with several groups of
    agents counts with their mean. first, second: the outcome in each arm. difference: NaN, with the reason, where an arm has no
    number. A unit that only one arm has is such a row too.
    """
    return pair_rooms(outcome.measure(first), outcome.measure(second), int(first.header.scenario["seed"]))


def pair_rooms(first: pd.DataFrame, second: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the same from the rooms of each arm (`Outcome.measure`). people: the personas of the unit in either arm."""
    sides = _units(first), _units(second)
    rows = []
    for key in sorted({*sides[0], *sides[1]}):
        one, other = (side.get(key, NO_ROOM) for side in sides)
        people = PLUS.join(sorted({*one.people, *other.people}))
        rows.append((*key, seed, people, one.value, other.value, one.value - other.value, one.reason or other.reason))
    return pd.DataFrame(rows, columns=UNITS)


def _units(rooms: pd.DataFrame) -> dict[tuple[str, int], ArmValue]:
    """Return the mean of the rooms of each unit (NaN where one of them has no number), why it is missing, and the people."""
    units: dict[tuple[str, int], ArmValue] = {}
    for key, part in rooms.groupby(PAIR, sort=False):
        people = {one for several in part["people"] for one in several.split(PLUS)}
        value = float(part["value"].mean(skipna=False))
        units[str(key[0]), int(key[1])] = ArmValue(value, next(filter(None, part["reason"]), ""), frozenset(people))
    return units
