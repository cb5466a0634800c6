"""The interval of a standard deviation, which does not take for granted that values are normal."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from scipy.stats import trim_mean

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
