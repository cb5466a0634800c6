"""Means over cases that hang together by participant, or by group: the interval is over those, not over cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.bootstrap import ROUNDING, Floats, interval, mean_interval


class Mean(NamedTuple):
    """A mean over `n` cases of `clusters` participants (or groups) with its 95% interval; NaN where there is none."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def mean(values: pd.Series, by: pd.Series, *name: object, weights: pd.Series | None = None) -> Mean:
    """The mean of what is there, weighted (a rate: value per weight); the bootstrap draws clusters with all their cases.

    values: one a case, NaN for missing. by: its cluster. weights: 1 each unless given. name: names the random stream.
    """
    weight = pd.Series(1.0, index=values.index) if weights is None else weights
    there = values.notna() & weight.notna()
    sums = pd.DataFrame({"top": (values * weight)[there], "bottom": weight[there]}).groupby(by[there]).sum()
    table = sums.to_numpy(dtype=float)
    value = float(table[:, 0].sum() / table[:, 1].sum()) if len(table) else float("nan")
    flat = not len(table) or even(values[there].to_numpy(dtype=float))
    low, high = (np.nan, np.nan) if flat else interval(table, _ratio, "deliberation", *name)
    return Mean(value, low, high, int(there.sum()), len(table))


def bounds(values: Floats, *name: object) -> tuple[float, float]:
    """The 95% interval of the mean of one number a group; NaN where nothing varies. name: names the random stream."""
    return (np.nan, np.nan) if even(values) else mean_interval(values, *name)


def even(values: Floats) -> bool:
    """Does nothing vary? Then a bootstrap has no width, and would look sure."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def _ratio(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    found: Floats = sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan)
    return found
