"""Do agents foresee their own answers, one by one and as a group?

After Mannekote et al. 2025, whose beliefs are about moves in a Trust Game; here an agent forecasts its own rating. The
benchmark is a forecast of no change: its error is the change itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from parley.agents.probe import FORECAST
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics._cells import KEYS, count_signs, frame, mean_columns, spans
from parley.analysis.statistics.intervals import SCALE, correlation, correlation_interval, with_interval
from parley.analysis.tables import Tables

ORDER = 6
TITLE = "Forecasts of one's own answer"
NOTE = (
    "Before the debate an agent says which answer it expects to give afterwards. Error is the mean distance (points) between "
    "the expected and the later answer. Unchanged is the mean distance if each agent forecast no change. Gain is *unchanged* "
    "minus *error*, room by room. A gain above 0 means that forecasts are better than a forecast of no change. The correlation "
    "r compares expected and later answers over agents. Bias is the mean expected answer minus the mean later answer. Distance "
    "(Wasserstein) compares the distribution of expected answers with the distribution of later answers. So a group's forecast "
    "can be right while forecasts of single agents are wrong."
)
LABELS: dict[str, str] = {}
FEWEST = 10
"""Agents below which no correlation is given."""
RATINGS = ["before", "expected", "after"]


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and party: rooms, people, missing (agents without one of the three ratings), error,
    unchanged, gain, r, bias, distance; all but the last with intervals over rooms. No rows where no forecast was asked
    for.
    """
    parts = _forecasts(tables).groupby(list(KEYS), sort=False)
    rows = [line(dict(zip(KEYS, map(str, key), strict=True)), people) for key, people in parts]
    kinds = {"rooms": "int64", "people": "int64", "missing": "int64"} | spans("error", "unchanged", "gain", "r", "bias")
    return frame(rows, **kinds, distance="float64")


def headline(table: pd.DataFrame) -> str:
    better, worse, uncertain = count_signs(table, "gain")
    return (
        f"{better} of {count_phrase(len(table), 'party')} predicted their own answers better than a forecast of no "
        f"change, and {worse} predicted them worse; {uncertain} are uncertain. On average, predictions differed from the "
        f"later answers by {table['error'].mean():.2f} points."
    )


def _forecasts(tables: Tables) -> pd.DataFrame:
    """Return a row per agent: keys, room, before, expected, after; NaN where a rating could not be read."""
    agent = ["room", "agent"]
    rounds = tables.attitudes["round"]
    last = tables.attitudes[rounds == rounds.max()] if rounds.max() else tables.attitudes.iloc[:0]
    forecasts = tables.probes[tables.probes["probe"] == FORECAST]
    people = forecasts[[*KEYS, *agent, "attitude"]].rename(columns={"attitude": "expected"})
    for name, rows in (("before", tables.attitudes[rounds == 0]), ("after", last)):
        people = people.merge(rows[[*agent, "attitude"]].rename(columns={"attitude": name}), on=agent, how="left")
    return people


def line(keys: dict[str, str], people: pd.DataFrame) -> dict[str, Any]:
    """Return the row of one topic, group and party. people: a row per agent: room, before, expected, after."""
    complete = people.dropna(subset=RATINGS)
    counts = {"rooms": complete["room"].nunique(), "people": len(complete), "missing": len(people) - len(complete)}
    row: dict[str, Any] = keys | counts
    if complete.empty:
        return row
    gap, change = complete["expected"] - complete["after"], (complete["before"] - complete["after"]).abs()
    for name, values in (("error", gap.abs()), ("unchanged", change), ("gain", change - gap.abs()), ("bias", gap)):
        bounds = SCALE if name in ("error", "unchanged") else None
        row |= mean_columns(name, values.groupby(complete["room"]).mean().to_numpy(dtype=float), bounds)
    row["distance"] = float(wasserstein_distance(complete["expected"], complete["after"]))
    return row | (_correlation_columns(complete) if len(complete) >= FEWEST else {})


def _correlation_columns(complete: pd.DataFrame) -> dict[str, float]:
    x, y = complete["expected"].to_numpy(dtype=float), complete["after"].to_numpy(dtype=float)
    terms = pd.DataFrame(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
    sums = terms.groupby(complete["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    return with_interval("r", float(correlation(sums.sum(axis=0))), correlation_interval(sums))
