"""Whether a difference is smaller than a bound: two one-sided t-tests (TOST)."""

from __future__ import annotations

import math

from scipy.special import stdtr, stdtrit

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
