"""Fits a mechanism to rows by least squares, the thresholds on a grid, for many weightings of the rooms at once.

Least squares needs only sums over the rows of a room. So one pass over the rows gives the fit to all rooms, the fits
without one room, and the draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from parley.agents.laws.base import AXIS, Codes, Floats
from parley.agents.mechanisms import Mechanism

from .rows import Rows

TINY = 1e-10
"""Singular values below this share of the largest are 0: such coefficients cannot be separated, and share the move."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows of each room, for each row of the grid.

    squares: (rooms, tries, p, p) of products of columns. products: (rooms, tries, p) of columns times the move. total:
    (rooms,) of squared moves. rows: (rooms,) the number of rows. grid: (tries, thresholds).
    """

    squares: Floats
    products: Floats
    total: Floats
    rows: Floats
    grid: Floats


@dataclass(frozen=True, eq=False)
class Fit:
    """Fits of one mechanism: coefficients (fits, p), thresholds (fits, k), place (fits,) of the thresholds in the grid,
    and spread (fits,), the SD of what the law leaves over, in points of the axis.
    """

    coefficients: Floats
    thresholds: Floats
    place: Codes
    spread: Floats


def sum_rooms(mechanism: Mechanism, rows: Rows) -> Sums:
    """Return the sums that a fit needs."""
    move, starts, grid = rows.after - rows.situation.own, rows.starts, mechanism.grid()
    squares, products = [], []
    for thresholds in grid:
        columns = mechanism.columns(rows.situation, thresholds)
        squares.append(np.add.reduceat(columns[:, :, None] * columns[:, None, :], starts, axis=0))
        products.append(np.add.reduceat(columns * move[:, None], starts, axis=0))
    sizes = np.bincount(rows.rooms, minlength=rows.count).astype(float)
    total = np.add.reduceat(move**2, starts)
    return Sums(np.stack(squares, axis=1), np.stack(products, axis=1), total, sizes, grid)


def fit_weighted(mechanism: Mechanism, sums: Sums, weights: Floats) -> Fit:
    """Return one fit for each row of weights: (fits, rooms)."""
    fits, (rooms, tries, size) = len(weights), sums.products.shape
    squares = (weights @ sums.squares.reshape(rooms, -1)).reshape(fits, tries, size, size)
    products = (weights @ sums.products.reshape(rooms, -1)).reshape(fits, tries, size)
    coefficients = _solve_bounded(squares, products) if mechanism.bounded else _solve(squares, products)
    gain = 2 * (products * coefficients).sum(axis=-1) - np.einsum(
        "dgi,dgij,dgj->dg", coefficients, squares, coefficients
    )
    place = gain.argmax(axis=1)
    chosen = np.arange(fits), place
    left, freedom = weights @ sums.total - gain[chosen], weights @ sums.rows
    spread = np.sqrt(np.maximum(left, 0.0) / np.maximum(freedom - size, 1.0))
    return Fit(coefficients[chosen], sums.grid[place], place.astype(np.int64), spread)


def _solve(squares: Floats, products: Floats) -> Floats:
    """Return the least-squares coefficients: (..., p)."""
    size = products.shape[-1]
    if size == 1:
        square = squares[..., 0]
        return np.divide(products, square, out=np.zeros_like(products), where=square > TINY)
    if not size:
        return products
    inverse = np.linalg.pinv(squares, rcond=TINY, hermitian=True)
    solved: Floats = np.einsum("...ij,...j->...i", inverse, products)
    return solved


def _solve_bounded(squares: Floats, products: Floats) -> Floats:
    """Return the least-squares coefficients that are 0 or more: the best of all subsets of columns whose own solution is.

    Source of the idea: Lawson and Hanson 1974, Solving Least Squares Problems, chapter 23, which searches the subsets.
    """
    best, gains, size = np.zeros_like(products), np.zeros(products.shape[:-1]), products.shape[-1]
    for count in range(1, size + 1):
        for chosen in map(list, combinations(range(size), count)):
            some = _solve(squares[..., chosen, :][..., chosen], products[..., chosen])
            gain = (products[..., chosen] * some).sum(axis=-1)  # what the squared error falls by, at its minimum
            better = (some >= 0).all(axis=-1) & (gain > gains)
            full = np.zeros_like(products)
            full[..., chosen] = some
            best, gains = np.where(better[..., None], full, best), np.where(better, gain, gains)
    return best


def predict_rooms(mechanism: Mechanism, rows: Rows, sums: Sums) -> Floats:
    """Return (n,) the predicted next attitude of each row, by a fit to all rooms but its own; kept within the axis."""
    fit = fit_weighted(mechanism, sums, 1.0 - np.eye(rows.count))
    predicted = rows.situation.own.copy()
    for place in np.unique(fit.place):
        here = fit.place[rows.rooms] == place
        columns = mechanism.columns(rows.situation, sums.grid[place])[here]
        predicted[here] += (columns * fit.coefficients[rows.rooms[here]]).sum(axis=1)
    return np.clip(predicted, *AXIS)


def room_means(values: Floats, rows: Rows) -> Floats:
    """Return (rooms,) the mean over the rows of each room. values: (n,)."""
    means: Floats = np.add.reduceat(values, rows.starts) / np.bincount(rows.rooms)
    return means


def fit_with_draws(mechanism: Mechanism, sums: Sums, draws: int, generator: np.random.Generator) -> tuple[Fit, Fit]:
    """Return the fit to all rooms, and draws from its uncertainty; both less the bias of least squares.

    Thresholds and spread are drawn by the Bayesian bootstrap over rooms (Rubin 1981, The Annals of Statistics 9(1)). The
    coefficients, given the thresholds, are drawn from Student's t with the estimate and covariance of the jackknife over
    rooms: the bootstrap alone is too narrow, and biased where an attitude both moves others and is moved
    (benchmarks/law_contest.py measures both).
    """
    rooms = len(sums.total)
    whole = fit_weighted(mechanism, sums, np.ones((1, rooms)))
    drawn = fit_weighted(mechanism, sums, rooms * generator.dirichlet(np.ones(rooms), size=draws))
    scale = np.sqrt((rooms - 1) / generator.chisquare(rooms - 1, size=draws))
    noise = scale[:, None] * generator.standard_normal((draws, rooms))
    return (_jackknifed(mechanism, sums, whole, np.zeros((1, rooms))), _jackknifed(mechanism, sums, drawn, noise))


def _jackknifed(mechanism: Mechanism, sums: Sums, fit: Fit, noise: Floats) -> Fit:
    """Return fits with the coefficients of the jackknife at their thresholds. noise: (fits, rooms), of variance 1."""
    rooms, coefficients = len(sums.total), fit.coefficients.copy()
    weights = np.vstack((np.ones(rooms), 1.0 - np.eye(rooms)))
    for place in np.unique(fit.place):
        here, only = fit.place == place, slice(place, place + 1)
        at = replace(sums, squares=sums.squares[:, only], products=sums.products[:, only], grid=sums.grid[only])
        whole, *without = fit_weighted(mechanism, at, weights).coefficients
        centre = np.mean(without, axis=0)
        errors = np.sqrt((rooms - 1) / rooms) * (np.array(without) - centre)
        coefficients[here] = whole - (rooms - 1) * (centre - whole) + noise[here] @ errors
    return replace(fit, coefficients=np.maximum(coefficients, 0.0) if mechanism.bounded else coefficients)
