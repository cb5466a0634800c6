"""Intervals over rooms, the unit of analysis. Seeded by name, so that the same record gives the same interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from llm.randomness import derive

DRAWS = 2000
LEVEL = 0.95
ROUNDING = 1e-12
"""A spread below this share of the sum of squares is rounding: nothing varies."""
Floats = NDArray[np.float64]


def interval(values: Floats, statistic: Callable[[Floats], Floats], *name: object) -> tuple[float, float]:
    """The 95% expanded percentile interval of a statistic over rooms.

    values: (rooms, k). statistic: maps (draws, rooms, k) to (draws,). name: names the random stream.
    Draws in which the statistic is not finite are left out; with fewer than 2 rooms the interval is (nan, nan).
    """
    rooms = len(values)
    if rooms < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(derive(0, "bootstrap", *name))
    drawn = statistic(values[rng.integers(0, rooms, size=(DRAWS, rooms))])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < DRAWS / 2:
        return math.nan, math.nan
    low, high = np.quantile(drawn, [tail(rooms), 1 - tail(rooms)])
    return float(low), float(high)


def mean_interval(values: Floats, *name: object) -> tuple[float, float]:
    """The interval of the mean of one number a room."""
    return interval(values.reshape(-1, 1), lambda drawn: drawn.mean(axis=(1, 2)), *name)


def tail(rooms: int) -> float:
    """The share of draws cut off at each end: 0.025 for many rooms, less for few, where plain percentiles are too narrow.

    Source: Hesterberg 2015, The American Statistician 69(4), section 3.3 (the expanded percentile interval).

    >>> round(tail(10), 4), round(tail(1000), 3)
    (0.0085, 0.025)
    """
    student = float(stdtrit(rooms - 1, (1 + LEVEL) / 2))
    return NormalDist().cdf(-math.sqrt(rooms / (rooms - 1)) * student)


def correlation(sums: Floats) -> Floats:
    """Pearson's r from (..., 6): n and the sums of x, y, xx, yy, xy, which add up over rooms; NaN where x or y does not vary.

    >>> float(correlation(np.array([3.0, 6.0, 6.0, 14.0, 14.0, 14.0])).round(3))
    1.0
    """
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    wide, tall = n * xx - x * x, n * yy - y * y
    varied = (wide > ROUNDING * n * xx) & (tall > ROUNDING * n * yy)
    return np.where(varied, (n * xy - x * y) / np.sqrt(np.where(varied, wide * tall, 1.0)), np.nan)


def share_interval(count: int, rooms: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a share of rooms; of use at 0 and 1 too, where a bootstrap has no width.

    Source: Wilson 1927; recommended by Brown, Cai and DasGupta 2001, Statistical Science 16(2).

    >>> [round(end, 3) for end in share_interval(0, 40)]
    [0.0, 0.088]
    """
    if not rooms:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share, weight = count / rooms, z * z / rooms
    centre = share + weight / 2
    reach = z * math.sqrt(share * (1 - share) / rooms + weight / (4 * rooms))
    return max((centre - reach) / (1 + weight), 0.0), min((centre + reach) / (1 + weight), 1.0)
