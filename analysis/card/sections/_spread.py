"""Shared by sections: how far values are apart within cells, as a number a unit of which it is the mean."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from parley.analysis.card.estimates import CardEstimate, mean_estimate

ALIKE = 1e-9
"""Points below which a spread is rounding."""


def spread(values: pd.DataFrame) -> pd.Series:
    """The standard deviation within columns (cells), pooled over them (root of the mean variance), as a number a row (unit) of
    which it is the mean: to first order the unit's part in it. All 0 where all are alike; empty where no cell has two values.

    Squares of a unit's distances from the means of its cells, n / (n - 1) of them, have the pooled variance as their mean.
    """
    squares = ((values - values.mean()) ** 2 * values.count() / (values.count() - 1)).mean(axis=1).dropna()
    pooled = float(squares.mean())
    if pooled <= ALIKE**2:
        return squares * 0.0
    return math.sqrt(pooled) * (1 + (squares / pooled - 1) / 2)


def positive(begun: CardEstimate, values: pd.Series, none: str = "no two that could be read") -> CardEstimate:
    """The mean of numbers a unit of something that is never below 0: Student's interval on the scale of its logarithm. `none`:
    why there are no numbers.
    """
    if values.dropna().empty:
        return replace(begun, n=len(values), reason=none)
    found = mean_estimate(begun, values)
    if found.reason or found.estimate <= ALIKE:
        return found
    reach = found.width / found.estimate
    return replace(found, low=found.estimate * math.exp(-reach), high=found.estimate * math.exp(reach))
