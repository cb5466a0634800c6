"""Arithmetic on arrays with gaps (NaN): what is missing is left out, where nothing is there the result is NaN, without a word."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats


def nanmean(values: Floats, axis: int = 0) -> Floats:
    """The mean of what is there along an axis.

    >>> nanmean(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    there = np.isfinite(values)
    count = there.sum(axis=axis)
    return np.where(count > 0, np.where(there, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def nanmedian(values: Floats, axis: int = 0) -> Floats:
    """The median likewise."""
    there = np.isfinite(values).any(axis=axis)
    known = np.where(np.expand_dims(there, axis), values, 0.0)
    return np.where(there, np.nanmedian(known, axis=axis), np.nan)


def quartiles(values: Floats) -> tuple[Floats, Floats]:
    """First and third quartile of what is there, along the first axis of (n, k); NaN where nothing is."""
    low, high = pd.DataFrame(values).quantile([0.25, 0.75]).to_numpy(dtype=float)
    return low, high


def slope(values: Floats, at: Floats) -> Floats:
    """Least squares along the last axis over `at`, of the values that are there; NaN for fewer than two.

    >>> float(slope(np.array([1.0, np.nan, 3.0]), np.arange(3)))
    1.0
    """
    there = np.isfinite(values)
    aside = np.where(there, at - nanmean(np.where(there, at, np.nan), -1)[..., None], 0.0)
    squares = (aside**2).sum(axis=-1)
    rise = (np.where(there, values, 0.0) * aside).sum(axis=-1)
    return np.where(squares > 0, rise / np.where(squares > 0, squares, 1.0), np.nan)
