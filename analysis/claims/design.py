"""A fractional factorial design: which levels each specification has, so that the effect of no setting passes for another's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from parley.analysis.bootstrap import Floats

TRIES = 2000
"""Exchanges that are tried for each column."""


def factorial_design(levels: Sequence[int], size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the level of each dimension (column) in each specification (row), as numbers from 0.

    levels: how many each dimension has. All combinations are returned if there are no more than `size`. Otherwise each column
    has its levels equally often (within one), in a random order. Rows of a column are then exchanged wherever this lowers the
    correlation with the columns before it.

    >>> factorial_design([2, 2], 64, np.random.default_rng(0)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if math.prod(levels) <= size:
        return np.array(list(product(*(range(count) for count in levels))), dtype=int).reshape(-1, len(levels))
    columns: list[np.ndarray] = []
    for count in sorted(levels, reverse=True):
        column = rng.permutation(np.arange(size) % count)
        before = np.hstack([contrasts(other) for other in columns]) if columns else np.zeros((size, 0))
        columns.append(_exchanged(column, before, rng))
    places = np.argsort(np.argsort([-count for count in levels], kind="stable"), kind="stable")
    return np.column_stack([columns[place] for place in places])


def contrasts(column: np.ndarray) -> Floats:
    """Return a column of levels as orthonormal columns of mean 0, one fewer than there are levels.

    >>> abs(contrasts(np.array([0, 1, 0, 1]))).round(1).tolist()
    [[0.5], [0.5], [0.5], [0.5]]
    """
    dummies = (column[:, None] == np.unique(column)[1:]).astype(float)
    return np.linalg.qr(dummies - dummies.mean(axis=0))[0]


def _exchanged(column: np.ndarray, before: Floats, rng: np.random.Generator) -> np.ndarray:
    """Return a column after exchanges of two rows that lower its squared correlation with the columns before it."""
    if not before.shape[1]:
        return column
    best = _confounding(column, before)
    for first, second in rng.integers(0, len(column), (TRIES, 2)):
        if column[first] == column[second] or best < 1e-12:
            continue
        column[[first, second]] = column[[second, first]]
        now = _confounding(column, before)
        if now <= best:
            best = now
        else:
            column[[first, second]] = column[[second, first]]
    return column


def _confounding(column: np.ndarray, before: Floats) -> float:
    """Return the sum of the squared correlations of a column with the columns before it."""
    sums = (column[:, None] == np.arange(column.max() + 1)).T.astype(float) @ before
    return float((sums**2).sum())


def largest_correlation(design: np.ndarray) -> float:
    """Return the largest correlation between contrasts of two dimensions; 0 if the design is orthogonal."""
    parts = [contrasts(column) for column in design.T if len(np.unique(column)) > 1]
    pairs = [np.linalg.norm(first.T @ second, 2) for at, first in enumerate(parts) for second in parts[:at]]
    return float(max(pairs, default=0.0))
