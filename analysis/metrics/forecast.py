"""What people expected to think at the end beside what they thought: do they do as they say, one by one and on the whole?

After Mannekote et al. 2025, whose beliefs are about moves in a Trust Game; here the forecast is of the own rating. The yardstick
is who expects no change: its error is the change itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from parley.agents.topic import FORECAST
from parley.analysis.bootstrap import Floats, correlation, correlation_interval, mean_interval
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics._cells import KEYS, frame, spans, with_interval
from parley.analysis.tables import Tables

ORDER = 6
TITLE = "Forecasts of one's own answer"
NOTE = (
    "Error is the mean distance (points) between what was expected before the debate and what was answered after it; unchanged "
    "is the same of who would expect no change. r is the correlation over people of both, bias the mean expected less the "
    "mean answered, distance that between both distributions (Wasserstein): a group can be right, its people wrong. Gain is "
    "unchanged minus error, room by room: above 0, forecasts are better than expecting no change."
)
LABELS: dict[str, str] = {}
FEWEST = 10
"""People below which no correlation is told."""


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, people, missing (without one of the three ratings), error, unchanged, gain, r,
    bias, distance; all but the last with intervals over rooms. No rows where nobody was asked for a forecast.
    """
    kinds = {
        "rooms": "int64",
        "people": "int64",
        "missing": "int64",
        **spans("error", "unchanged", "gain", "r", "bias"),
    }
    told = _together(tables)
    rows = [
        line(dict(zip(KEYS, map(str, key), strict=True)), part) for key, part in told.groupby(list(KEYS), sort=False)
    ]
    return frame(rows, **kinds, distance="float64")


def headline(found: pd.DataFrame) -> str:
    better, worse = int((found["gain_low"] > 0).sum()), int((found["gain_high"] < 0).sum())
    told, errors = count_phrase(len(found), "party"), found["error"].mean()
    return (
        f"Of {told} (one per topic and group) {better} foresee their answers better, and {worse} worse, than by expecting no "
        f"change; for {len(found) - better - worse} this is not certain. The mean error is {errors:.2f} points."
    )


def _together(tables: Tables) -> pd.DataFrame:
    """A row a person: keys, room, before, expected, after; missing where one could not be read."""
    who = ["room", "agent"]
    rounds = tables.attitudes["round"]
    last = tables.attitudes[rounds == rounds.max()] if rounds.max() else tables.attitudes.iloc[:0]
    foretold = tables.probes[tables.probes["probe"] == FORECAST]
    found = foretold[[*KEYS, *who, "attitude"]].rename(columns={"attitude": "expected"})
    for name, part in (("before", tables.attitudes[rounds == 0]), ("after", last)):
        found = found.merge(part[[*who, "attitude"]].rename(columns={"attitude": name}), on=who, how="left")
    return found


def line(keys: dict[str, str], part: pd.DataFrame) -> dict[str, Any]:
    """The row of one topic, group and party. part: a row a person: room, before, expected, after."""
    known = part.dropna(subset=["before", "expected", "after"])
    row: dict[str, Any] = {
        **keys,
        "rooms": known["room"].nunique(),
        "people": len(known),
        "missing": len(part) - len(known),
    }
    if known.empty:
        return row
    gap, still = known["expected"] - known["after"], (known["before"] - known["after"]).abs()
    for name, values in (("error", gap.abs()), ("unchanged", still), ("gain", still - gap.abs()), ("bias", gap)):
        means = values.groupby(known["room"]).mean().to_numpy(dtype=float)
        row |= with_interval(name, float(means.mean()), mean_interval(means))
    row["distance"] = float(wasserstein_distance(known["expected"], known["after"]))
    return row | (_correlated(known, keys) if len(known) >= FEWEST else {})


def _correlated(known: pd.DataFrame, keys: dict[str, str]) -> dict[str, float]:
    x, y = known["expected"].to_numpy(dtype=float), known["after"].to_numpy(dtype=float)
    terms = pd.DataFrame(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
    sums: Floats = terms.groupby(known["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    ends = correlation_interval(sums)
    return with_interval("r", float(correlation(sums.sum(axis=0))), ends)
