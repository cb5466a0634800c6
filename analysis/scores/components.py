"""What scores differ by (person, run, statement), and how many runs a difference needs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.scores.run_means import by_run, casts
from parley.analysis.statistics.power import rooms_needed

ONE_CAST = "these people alone: persons were not varied"
SAME_PEOPLE = "the same people in both conditions"
ONE_CONDITION = "one condition: persons and runs cannot be told apart"


def components(scores: pd.DataFrame, people: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row a topic and agent: what its scores differ by, as standard deviations in points of 1-7.

    person: between people (NaN where they were not varied). run: between runs of the same people in the same condition, with
    what a condition does to one person more than to another. statement: of single statements around a straight line over the
    run. freedom: degrees of freedom of `run`. casts: how many different ones.
    """
    rows = []
    for (topic, agent), part in scores.groupby(["topic", "agent"], sort=False):
        runs = by_run(part).dropna(subset=["value"])
        units = casts(people[people["condition"].isin(part["condition"])]) if people is not None else None
        if units is not None:
            runs = runs.join(units, on=["condition", "run"])
        persons = runs["unit"] if units is not None and runs["unit"].nunique() > 1 else None
        row = {"topic": topic, "agent": agent, "casts": 1 if persons is None else persons.nunique()}
        rows.append({**row, **_deviations(runs, persons), "statement": _scatter(part)})
    return pd.DataFrame(rows)


def _deviations(runs: pd.DataFrame, persons: pd.Series | None) -> dict[str, float]:
    """SDs between persons and between runs, by analysis of variance with additive conditions (and persons)."""
    values, conditions = runs["value"].to_numpy(dtype=float), pd.get_dummies(runs["condition"]).to_numpy(dtype=float)
    within, left = _residual(values, conditions)
    if persons is None:
        return {"person": math.nan, "run": _root(within, left), "freedom": left}
    both = np.hstack([conditions, pd.get_dummies(persons).to_numpy(dtype=float)])
    rest, spare = _residual(values, both)
    if spare < 1:
        return {"person": math.nan, "run": math.nan, "freedom": 0}
    between = (within - rest) / (left - spare) - rest / spare
    each = len(values) / persons.nunique()
    return {"person": math.sqrt(max(between, 0.0) / each), "run": _root(rest, spare), "freedom": spare}


def _residual(values: Floats, design: Floats) -> tuple[float, int]:
    """Sum of squares that a design leaves, and its degrees of freedom."""
    found, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    return float(((values - design @ found) ** 2).sum()), len(values) - int(rank)


def _root(squares: float, freedom: int) -> float:
    return math.sqrt(squares / freedom) if freedom > 0 else math.nan


def _scatter(scores: pd.DataFrame) -> float:
    squares, freedom = 0.0, 0
    for _, line in scores.dropna(subset=["score"]).groupby(["condition", "run"], sort=False):
        if len(line) > 2:
            at = line["statement"].to_numpy(dtype=float)
            rest, left = _residual(line["score"].to_numpy(dtype=float), np.column_stack([np.ones(len(at)), at]))
            squares, freedom = squares + rest, freedom + left
    return _root(squares, freedom)


def runs_needed(found: pd.DataFrame) -> pd.DataFrame:
    """Return runs a condition for a difference in an agent's mean score, from `components`.

    Where people were varied: the same people in both conditions, new ones in each run, tested in pairs. Else runs of the same
    people, independent (`basis` says so). Columns: topic, agent, difference, power, rooms, rooms_low, rooms_high (see
    `rooms_needed`), basis.
    """
    parts = []
    for row in found.to_dict("records"):
        varied = row["casts"] > 1
        deviation = row["run"] * (math.sqrt(2) if varied else 1)
        needed = rooms_needed(deviation, paired=varied, freedom=row["freedom"])
        basis = (SAME_PEOPLE if row["freedom"] else ONE_CONDITION) if varied else ONE_CAST
        parts.append(needed.assign(topic=row["topic"], agent=row["agent"], basis=basis))
    columns = ["topic", "agent", "difference", "power", "rooms", "rooms_low", "rooms_high", "basis"]
    return pd.concat(parts, ignore_index=True)[columns]
