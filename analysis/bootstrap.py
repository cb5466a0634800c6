"""Percentile bootstrap over rooms, the unit of analysis: seeded, so that the same record gives the same interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from llm.randomness import derive

DRAWS = 2000
LEVEL = 0.95
Floats = NDArray[np.float64]


def interval(values: Floats, statistic: Callable[[Floats], Floats], *name: object) -> tuple[float, float]:
    """The 95% percentile interval of a statistic over rooms.

    values: (rooms, k). statistic: maps (draws, rooms, k) to (draws,). name: names the random stream.
    Draws in which the statistic is not finite are left out; with fewer than 2 rooms the interval is (nan, nan).
    """
    rooms = len(values)
    if rooms < 2:
        return float("nan"), float("nan")
    rng = np.random.default_rng(derive(0, "bootstrap", *name))
    drawn = statistic(values[rng.integers(0, rooms, size=(DRAWS, rooms))])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < DRAWS / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_interval(values: Floats, *name: object) -> tuple[float, float]:
    """The interval of the mean of one number a room."""
    return interval(values.reshape(-1, 1), lambda drawn: drawn.mean(axis=(1, 2)), *name)
