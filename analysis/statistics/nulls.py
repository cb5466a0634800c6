"""Data sets without any effect, in which rooms differ: an honest test rejects 5% of them (benchmarks/false_alarms.py).

20 rooms of three seats rated after each of 6 rounds; rooms differ in level as much as single ratings do, and somewhat in slope;
half of the rooms are in one condition, half in another, which does nothing. `pooled` is an ANOVA of all ratings as if each were
independent, as in much of what is published.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import f_oneway

from analysis.bootstrap import mean_interval
from analysis.statistics.groups import level, pairs, spread, two
from analysis.statistics.mixed import slopes
from analysis.statistics.permute import shuffled

ROOMS, SEATS, ROUNDS, APART, SLOPES_APART = 20, 3, 6, 1.0, 0.2


def nothing(rng: np.random.Generator) -> pd.DataFrame:
    """A data set: room, seat, round, condition (0, 1), value."""
    grid = np.meshgrid(np.arange(ROOMS), np.arange(SEATS), np.arange(ROUNDS), indexing="ij")
    room, seat, survey = (axis.ravel() for axis in grid)
    levels, own = rng.normal(0, APART, ROOMS), rng.normal(0, SLOPES_APART, ROOMS)
    value = levels[room] + own[room] * (survey - survey.mean()) + rng.normal(0, 1, len(room))
    return pd.DataFrame({"room": room, "seat": seat, "round": survey, "condition": room % 2, "value": value})


def _by_condition(data: pd.DataFrame) -> dict[str, np.ndarray]:
    means = data.groupby(["condition", "room"])["value"].mean()
    return {str(name): means[name].to_numpy() for name in (0, 1)}


def _pooled(rng: np.random.Generator) -> float:
    data = nothing(rng)
    return float(f_oneway(*[part["value"] for _, part in data.groupby("condition")]).pvalue)


def _shuffled(rng: np.random.Generator) -> float:
    means = nothing(rng).groupby(["room", "condition"], as_index=False)["value"].mean()
    return shuffled(f"null {rng.integers(1 << 30)}", means, "value", "condition").p


def _drift(rng: np.random.Generator) -> float:
    data = nothing(rng)
    data["round"] -= data["round"].mean()
    data["both"] = data["round"] * data["condition"]
    return slopes("null", data, "value", ["round", "condition", "both"], varying=["round"])[-1].p


def _interval(rng: np.random.Generator) -> float:
    """0 where the bootstrap interval of the mean leaves out the truth, 1 where it does not."""
    means = nothing(rng).groupby("room")["value"].mean().to_numpy()
    low, high = mean_interval(means, "null", int(rng.integers(1 << 30)))
    return float(low <= 0 <= high)


def _two(rng: np.random.Generator) -> float:
    first, second = _by_condition(nothing(rng)).values()
    return two("null", first, second, "room").p


def _pair(rng: np.random.Generator) -> float:
    """Of three conditions without any effect, whether any two differ by Games and Howell's test."""
    groups = {str(name): nothing(rng).groupby("room")["value"].mean().to_numpy() for name in range(3)}
    return min(row.p for row in pairs("null", groups, "room"))


TESTS: dict[str, Callable[[np.random.Generator], float]] = {
    "level": lambda rng: level("null", _by_condition(nothing(rng)), "room").p,
    "spread": lambda rng: spread("null", _by_condition(nothing(rng)), "room").p,
    "two": _two,
    "Games-Howell, three conditions": _pair,
    "interval": _interval,
    "mixed condition": lambda rng: slopes("null", nothing(rng), "value", ["condition"])[0].p,
    "mixed round": lambda rng: slopes("null", nothing(rng), "value", ["round"])[0].p,
    "mixed round x condition": _drift,
    "permutation": _shuffled,
    "pooled": _pooled,
}
"""Each draws a data set and returns its p."""
