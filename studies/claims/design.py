"""A fractional factorial design: which levels each specification has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from parley.analysis.statistics.intervals import Floats

TRIES = 2000
"""Exchanges that are tried for each column."""
DESIGNS = 10
"""Designs that are drawn at most until all rows differ."""


def factorial_design(levels: Sequence[int], size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the level of each dimension (column) in each specification (row), as numbers from 0.

    levels: how many each dimension has. All combinations are returned if there are no more than `size`. Otherwise each column
    has its levels equally often (within one), in a random order. Rows of a column are then exchanged wherever this lowers the
    association with the columns before it. If rows are equal, up to `DESIGNS` designs are drawn, and the one with the most
    different rows is returned. All comparisons are of whole numbers, so a seed gives the same design on every machine.

    >>> factorial_design([2, 2], 64, np.random.default_rng(0)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if math.prod(levels) <= size:
        return np.array(list(product(*(range(count) for count in levels))), dtype=int).reshape(-1, len(levels))
    designs: list[np.ndarray] = []
    while len(designs) < DESIGNS and (not designs or _different_rows(designs[-1]) < size):
        designs.append(_balanced_design(levels, size, rng))
    return max(designs, key=_different_rows)


def _different_rows(design: np.ndarray) -> int:
    return len(np.unique(design, axis=0))


def _balanced_design(levels: Sequence[int], size: int, rng: np.random.Generator) -> np.ndarray:
    columns: list[np.ndarray] = []
    for count in sorted(levels, reverse=True):
        column = rng.permutation(np.arange(size) % count)
        columns.append(_exchanged(column, columns, rng))
    places = np.argsort(np.argsort([-count for count in levels], kind="stable"), kind="stable")
    return np.column_stack([columns[place] for place in places])


def contrasts(column: np.ndarray) -> Floats:
    """Return a column of levels as orthonormal columns of mean 0, one fewer than there are levels.

    >>> abs(contrasts(np.array([0, 1, 0, 1]))).round(1).tolist()
    [[0.5], [0.5], [0.5], [0.5]]
    """
    dummies = (column[:, None] == np.unique(column)[1:]).astype(float)
    return np.linalg.qr(dummies - dummies.mean(axis=0))[0]


def _exchanged(column: np.ndarray, before: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Return a column after exchanges of two rows that lower its association with the columns before it."""
    if not before:
        return column
    dummies = np.column_stack([_centred(other) for other in before])
    best = _confounding(column, dummies)
    for first, second in rng.integers(0, len(column), (TRIES, 2)):
        if column[first] == column[second] or best == 0:
            continue
        column[[first, second]] = column[[second, first]]
        now = _confounding(column, dummies)
        if now <= best:
            best = now
        else:
            column[[first, second]] = column[[second, first]]
    return column


def _centred(column: np.ndarray) -> np.ndarray:
    """Return a column of levels as one column per level, of mean 0, in whole numbers: these are equal on every machine."""
    levels = (column[:, None] == np.arange(column.max() + 1)).astype(np.int64)
    return np.asarray(levels * len(column) - levels.sum(axis=0))


def _confounding(column: np.ndarray, before: np.ndarray) -> int:
    """Return how far the levels of a column come unequally often with those of the columns before it, as a whole number."""
    sums = (column[:, None] == np.arange(column.max() + 1)).T.astype(np.int64) @ before
    return int((sums**2).sum())


def largest_correlation(design: np.ndarray) -> float:
    """Return the largest correlation between contrasts of two dimensions; 0 if the design is orthogonal."""
    parts = [contrasts(column) for column in design.T if len(np.unique(column)) > 1]
    pairs = [np.linalg.norm(first.T @ second, 2) for at, first in enumerate(parts) for second in parts[:at]]
    return float(max(pairs, default=0.0))
