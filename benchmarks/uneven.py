"""Sizes of clusters of which a few have most rows: the kinds of data `heavy` and `tailed` of the exam."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

UNEVEN = ("heavy", "tailed")
"""Kinds of data in which a few units have most rows; see `rows_of`."""


def rows_of(units: int, kind: str, rows: int = 4) -> NDArray[np.int64]:
    """Return how many rows each unit has: `heavy`: the first as many as all others together; `tailed`: from one to many, as the
    quantiles of a lognormal distribution (the largest tenth has about a third); else the same.

    >>> rows_of(5, "heavy").tolist(), rows_of(5, "tailed").tolist()
    ([16, 4, 4, 4, 4], [14, 7, 4, 2, 1])
    """
    if kind == "heavy":
        return np.array([max(units - 1, 1) * rows, *[rows] * (units - 1)])
    if kind == "tailed":
        places = norm.ppf((np.arange(units)[::-1] + 0.5) / units)
        return np.maximum(np.rint(rows * np.exp(places)), 1).astype(np.int64)
    return np.full(units, rows)
