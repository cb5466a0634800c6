"""The differences that a claim rests on: the outcome in the first arm minus that in the second, one per unit."""

from __future__ import annotations

import pandas as pd

from parley.analysis.claims.outcomes import Outcome
from parley.analysis.studies.paired_conditions import PAIR
from parley.analysis.tables import Tables

UNITS = [*PAIR, "seed", "first", "second", "difference", "reason"]


def unit_differences(first: Tables, second: Tables, outcome: Outcome) -> pd.DataFrame:
    """Return first minus second for one specification: a row per unit with the columns UNITS.

    The unit is a topic, a group of people (the repetition) and a seed, with one room in each arm. An arm with several groups of
    agents counts with their mean. first, second: the outcome in each arm. difference: NaN, with the reason, where an arm has no
    number. A unit that only one arm has is such a row too.
    """
    sides = [_unit_values(tables, outcome, name) for tables, name in ((first, "first"), (second, "second"))]
    units = sides[0].join(sides[1], how="outer").reset_index()
    units["seed"] = int(first.header.scenario["seed"])
    units["difference"] = units["first"] - units["second"]
    reasons = units.pop("first_reason").where(units["first"].isna()).fillna(units.pop("second_reason"))
    units["reason"] = reasons.where(units["difference"].isna(), "").fillna("this arm has no such room")
    return units[UNITS]


def _unit_values(tables: Tables, outcome: Outcome, name: str) -> pd.DataFrame:
    """Return the mean of the rooms of each unit, and why it is missing: NaN where one of its rooms has no number."""
    rooms = outcome.measure(tables)
    by = rooms.groupby(PAIR, sort=True)
    values = by["value"].agg(lambda values: values.mean(skipna=False))
    reasons = by["reason"].agg(lambda reasons: next(filter(None, reasons), None))
    return pd.DataFrame({name: values, f"{name}_reason": reasons})
