"""How many rooms are needed to find a difference, and how likely a planned test finds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import chi2
from statsmodels.stats.power import TTestIndPower, TTestPower

from parley.analysis.statistics.intervals import FEWEST, Ends, Floats

LEVEL = 0.95


def p_alike(difference: float, low: float, high: float, df: float, bound: float) -> float:
    """Return the p of "the difference is at least `bound` in size": below 0.05, the two are alike within the bound.

    low, high: the 95% interval of the difference, by Student's t with df degrees of freedom. p < 0.05 if and only if the 90%
    interval lies between -bound and bound. NaN without an interval.
    Source: Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15(6).

    >>> round(p_alike(0.1, -0.2, 0.4, 20, 0.5), 4)
    0.0058
    """
    if not math.isfinite(high - low) or high <= low:
        return math.nan
    error = (high - low) / 2 / float(stdtrit(df, (1 + LEVEL) / 2))
    return float(stdtr(df, -(bound - abs(difference)) / error))


STEPS = 1000
"""Equally likely standard deviations over which a power is averaged."""
DIFFERENCES, POWERS, ALPHA = (0.25, 0.5, 1.0), (0.8, 0.9), 0.05


def rooms_needed(
    deviation: float,
    differences: Sequence[float] = DIFFERENCES,
    powers: Sequence[float] = POWERS,
    paired: bool = False,
    ends: Ends | None = None,
) -> pd.DataFrame:
    """Return the rooms for each condition (`paired`: pairs of rooms) by difference in points and power, at two-sided 5%.

    deviation: standard deviation between rooms in points (paired: of the differences). ends: its 95% interval
    (`deviation_interval`; None: it is known). Columns: difference, power, rooms, and rooms_low, rooms_high: the rooms at the ends
    of that interval. At least `FEWEST`, because nothing is concluded from fewer; missing if the deviation, or its end, is 0 or
    unknown.

    >>> rooms_needed(1.0, [0.5], [0.8])["rooms"].tolist()
    [64]
    >>> rooms_needed(1.0, [0.5], [0.8], ends=(0.75, 1.5))[["rooms_low", "rooms_high"]].values.tolist()
    [[37, 143]]
    """
    solver = TTestPower() if paired else TTestIndPower()
    low, high = ends or (deviation, deviation)
    spreads = {"rooms": deviation, "rooms_low": low, "rooms_high": high}
    rows = [
        {
            "difference": difference,
            "power": power,
            **{name: _rooms(solver, difference / end, power) if end > 0 else None for name, end in spreads.items()},
        }
        for difference in differences
        for power in powers
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(spreads, "Int64"))


def detectable(deviation: float, pairs: int) -> float:
    """The difference in points that so many pairs of rooms find in 80% of studies, at two-sided 5%; NaN below two pairs.

    deviation: standard deviation of the differences.

    >>> round(detectable(1.0, 34), 2)
    0.5
    """
    if pairs < 2:
        return math.nan
    return deviation * float(TTestPower().solve_power(nobs=pairs, alpha=ALPHA, power=0.8))


def _rooms(solver: TTestPower | TTestIndPower, size: float, power: float) -> int:
    name = "nobs" if isinstance(solver, TTestPower) else "nobs1"
    if size > 1:  # few rooms are counted up, because below two the solver looks for a part of a room
        return next(rooms for rooms in count(FEWEST) if not float(solver.power(size, rooms, ALPHA)) < power)
    return max(FEWEST, math.ceil(float(solver.solve_power(effect_size=size, alpha=ALPHA, power=power, **{name: None}))))


def power_of_mean(size: float, variance: float, units: int, level: float, alike: bool = False) -> float:
    """Return the power of a one-sided t-test if the mean is `size`.

    alike: of two such tests against the bound `size` if the mean is 0. variance: between units, above 0. level: of the test.

    >>> round(power_of_mean(0.5, 1.0, 27, 0.05), 2), round(power_of_mean(0.6, 1.0, 27, 0.05, alike=True), 2)
    (0.81, 0.84)
    """
    reach = size / math.sqrt(variance / units) - float(stdtrit(units - 1, 1 - level)) * _deviations(units - 1)
    return float((np.maximum(2 * ndtr(reach) - 1, 0.0) if alike else ndtr(reach)).mean())


@cache
def _deviations(freedom: int) -> Floats:
    """Return equally likely sample standard deviations if the true one is 1."""
    chances = (np.arange(STEPS) + 0.5) / STEPS
    deviations: Floats = np.sqrt(chi2.ppf(chances, freedom) / freedom)
    return deviations


def units_needed(
    power: Callable[[float, int], float], variance: float, wanted: float, fewest: int, most: int
) -> int | None:
    """Return the fewest units with the wanted power, by halving; None if `most` are too few. power: by variance and units."""
    low, high = fewest, most
    if power(variance, most) < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(variance, middle) >= wanted else (middle + 1, high)
    return low
