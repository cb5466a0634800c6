"""How many rooms are needed to find a difference, and how likely a planned test finds it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from statistics import NormalDist

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import chi2, trim_mean
from statsmodels.stats.power import TTestIndPower, TTestPower

from parley.analysis.statistics.intervals import ALIKE, FEWEST, LEVEL, NONE, Ends, Floats

MOST_TRIMMED = 0.49
"""At most this share is trimmed at each end: the median is left."""
LEAN = 2.0
"""The kurtosis counts as at least 3 plus this times the squared skewness: few skewed numbers rarely show their longest tail, and
without it 8 to 12% of the intervals of exponential numbers miss (docs/exam.md)."""


def deviation_interval(residuals: Floats, freedom: int) -> Ends:
    """Return the 95% interval of the standard deviation of what a model leaves; (nan, nan) below `FEWEST` - 1 degrees of freedom.

    residuals: differences from fitted means. freedom: their degrees of freedom. The interval is wider the heavier the tails of
    the residuals are. Source: Bonett 2006, Computational Statistics & Data Analysis 50(3), with residuals in place of one sample,
    and a kurtosis that fits their skewness (`LEAN`).

    >>> [round(end, 2) for end in deviation_interval(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), 4)]
    [0.55, 7.44]
    """
    size, squares = freedom + 1, float((residuals**2).sum())
    if freedom < FEWEST - 1 or squares < ALIKE**2:
        return NONE
    cut = 1 / (2 * math.sqrt(size - 4))
    centred = residuals - np.float64(trim_mean(residuals, min(cut, MOST_TRIMMED)))
    kurtosis = len(residuals) * float((centred**4).sum()) / squares**2
    kurtosis = max(kurtosis, 3 + LEAN * _skewness(residuals, freedom) ** 2)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    wider = size / (size - z)
    reach = z * wider * math.sqrt(max(kurtosis - (size - 3) / size, 0.0) / freedom)
    middle = math.log(wider * squares / freedom)
    return math.exp((middle - reach) / 2), math.exp((middle + reach) / 2)


def _skewness(residuals: Floats, freedom: int) -> float:
    """Return the skewness of the numbers: that of the residuals, which fitted means make smaller, enlarged as for equal cells."""
    cell = len(residuals) / (len(residuals) - freedom)
    smaller = (cell - 1) * (cell - 2) / cell**2 if cell > 2 else 1.0
    return float((residuals**3).mean()) / smaller / math.sqrt(float((residuals**2).sum()) / freedom) ** 3


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
