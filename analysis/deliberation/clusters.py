"""Means over cases that hang together by participant, or by group: the interval is over those, not over cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats, interval, too_few

FEW = 10
"""Groups below which a report says that intervals are wide."""


class Mean(NamedTuple):
    """A mean over `n` cases of `clusters` participants (or groups) with its 95% interval; NaN where there is none."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def mean(values: pd.Series, by: pd.Series, weights: pd.Series | None = None) -> Mean:
    """Return the mean of what is there, weighted (a rate: value per weight), with its interval over clusters.

    values: one a case, NaN for missing. by: its cluster. weights: 1 each unless given.
    """
    weight = pd.Series(1.0, index=values.index) if weights is None else weights
    there = values.notna() & weight.notna()
    sums = pd.DataFrame({"top": (values * weight)[there], "bottom": weight[there]}).groupby(by[there]).sum()
    table = sums.to_numpy(dtype=float)
    value = float(table[:, 0].sum() / table[:, 1].sum()) if len(table) else float("nan")
    low, high = interval(table, _ratio)
    return Mean(value, low, high, int(there.sum()), len(table))


def caution(groups: int) -> str:
    """Return what is to be said of intervals over so few groups, if anything.

    >>> caution(2), caution(40)
    ('There are fewer than 5 groups, so no interval is given and nothing can be concluded.', '')
    """
    if groups < FEWEST:
        return f"There are {too_few('group')}, so no interval is given and nothing can be concluded."
    return "With so few groups intervals are wide and little can be concluded." if groups < FEW else ""


def _ratio(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    found: Floats = sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan)
    return found
