"""Data sets without any effect, in which rooms differ: an honest test rejects 5% of them (exam.py and tests).

20 rooms of three seats rated after each of 6 rounds; rooms differ in level as much as single ratings do, and somewhat in slope;
half of the rooms are in one condition, half in another, which does nothing. `pooled` is an ANOVA of all ratings as if each were
independent, as in much of what is published.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from null_scores import SCORES
from scipy.stats import f_oneway

from parley.analysis.scores.reversion import echo_chambers, gradients
from parley.analysis.scores.table import MIDDLE
from parley.analysis.statistics.groups import compare_two, level
from parley.analysis.statistics.intervals import mean_interval

ROOMS, SEATS, ROUNDS, APART, SLOPES_APART = 20, 3, 6, 1.0, 0.2


def nothing(rng: np.random.Generator) -> pd.DataFrame:
    """A data set: room, seat, round, condition (0, 1), value."""
    grid = np.meshgrid(np.arange(ROOMS), np.arange(SEATS), np.arange(ROUNDS), indexing="ij")
    room, seat, survey = (axis.ravel() for axis in grid)
    levels, room_slopes = rng.normal(0, APART, ROOMS), rng.normal(0, SLOPES_APART, ROOMS)
    value = levels[room] + room_slopes[room] * (survey - survey.mean()) + rng.normal(0, 1, len(room))
    return pd.DataFrame({"room": room, "seat": seat, "round": survey, "condition": room % 2, "value": value})


def _by_condition(data: pd.DataFrame) -> dict[str, np.ndarray]:
    means = data.groupby(["condition", "room"])["value"].mean()
    return {str(name): means[name].to_numpy() for name in (0, 1)}


def _pooled(rng: np.random.Generator) -> float:
    data = nothing(rng)
    return float(f_oneway(*[condition_rows["value"] for _, condition_rows in data.groupby("condition")]).pvalue)


def _interval(rng: np.random.Generator) -> float:
    """0 where the interval of the mean leaves out the truth, 1 where it does not."""
    means = nothing(rng).groupby("room")["value"].mean().to_numpy()
    low, high = mean_interval(means)
    return float(not (low > 0 or high < 0))


def _two(rng: np.random.Generator) -> float:
    first, second = _by_condition(nothing(rng)).values()
    return compare_two("null", first, second, "room").p


def _scores(rng: np.random.Generator) -> pd.DataFrame:
    """The same, as scores of statements: a run is a room, and two of the seats are of one party."""
    names = {"room": "run", "seat": "agent", "round": "statement", "value": "score"}
    data = nothing(rng).rename(columns=names)
    return data[data["agent"] < 2].assign(topic="null", condition="null", agent=lambda row: row["agent"].astype(str))


def _gradient(rng: np.random.Generator) -> float:
    """0 where the interval of an agent's slope leaves out 0, 1 where it does not."""
    first = gradients(_scores(rng)).iloc[0]
    return float(not (first["slope_low"] > 0 or first["slope_high"] < 0))


def _echo(rng: np.random.Generator) -> float:
    """0 where an echo chamber is said to have formed: both slopes have to point outward, so that it is half of 5% at most."""
    scores = _scores(rng)
    scores["score"] += MIDDLE + 2
    return float(not echo_chambers(scores, {"0": "same", "1": "same"})["formed"].iloc[0])


TESTS: dict[str, Callable[[np.random.Generator], float]] = {
    "level": lambda rng: level("null", _by_condition(nothing(rng)), "room").p,
    "two": _two,
    "interval": _interval,
    "gradient": _gradient,
    "echo chamber": _echo,
    **SCORES,
    "pooled": _pooled,
}
"""Each draws a data set and returns its p."""
