"""Scores of items by several raters: severity, error, corrected mean, ICC.

A score is the true value of the item, plus the severity of the rater, plus an error whose size is the rater's own. Items are a
sample (a normal random effect); the raters are those of the file, so their severities are fixed and sum to 0. EM finds the most
likely values (Dempster, Laird and Rubin 1977), with the mean of the items moved freely in each step (Liu, Rubin and Wu 1998).
Intervals are a jackknife over items, in at most `GROUPS` groups, so they also hold for values that are not normal. Items that
belong together (texts of a debate) are left out together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logit

from parley.analysis.statistics.intervals import NONE, Ends, Floats, mean_interval

Codes = NDArray[np.int64]
FEWEST_ITEMS, FEWEST_SHARED = 30, 10
"""Items with two scores that the model needs, and such items that each rater needs."""
GROUPS, STEPS, CLOSE, LEAST = 40, 500, 1e-6, 1e-4
"""Groups of the jackknife at most; steps of EM at most; the change at which it has arrived (as a share of the largest level above
1); the least variance of an error, as a share of that of all scores."""


@dataclass(frozen=True)
class CrossedRatings:
    """mean: of the items by the average rater; severity, error (SD), reliability: (raters,); items: corrected scores (n,).

    agreement: the ICC of one score (absolute agreement); agreement_of_means: of the mean of all raters. ends: 95% intervals of
    mean, severities, errors, reliabilities, agreement, agreement_of_means, in this order.
    """

    mean: float
    severity: Floats
    error: Floats
    reliability: Floats
    agreement: float
    agreement_of_means: float
    items: Floats
    ends: list[Ends]


def fit_ratings(scores: Floats, clusters: Codes | None = None) -> CrossedRatings:
    """Return the fit to scores (items, raters), NaN where a rater gave none; `why_no_fit` says when there is none.

    clusters: (items,), which items belong together, from 0; None: each item is independent.
    """
    raters, items = scores.shape[1], len(scores)
    middle = float(np.nanmean(scores))
    scores = scores - middle  # sums of squares of scores near 1e9 would lose all digits
    state, values = _climb(scores, np.ones((1, items)), _start(scores))
    place = np.arange(items) if clusters is None else clusters
    place, groups = place % GROUPS, min(int(np.max(place)) + 1, GROUPS)
    without = (place != np.arange(groups)[:, None]).astype(float)
    left, _ = _climb(scores, without, [np.repeat(parameter, groups, axis=0) for parameter in state])
    whole, parts, sizes = _summary(state)[0], _summary(left), items - without.sum(axis=1)
    ends = [_ends(whole[k], parts[:, k], k, raters, sizes) for k in range(len(whole))]
    severity, error, reliability = (whole[1 + k * raters : 1 + (k + 1) * raters] for k in range(3))
    mean, (low, high) = middle + float(whole[0]), ends[0]
    ends[0] = low + middle, high + middle
    return CrossedRatings(
        mean, severity, error, reliability, float(whole[-2]), float(whole[-1]), mean + values[0], ends
    )


def why_no_fit(scores: Floats) -> str:
    """Return why the model cannot be fitted to scores (items, raters), or nothing."""
    scored = np.isfinite(scores)
    shared = scored[scored.sum(axis=1) > 1]
    if scores.shape[1] < 2:
        return "it needs two raters"
    if len(shared) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items have scores of two raters"
    if shared.sum(axis=0).min() < FEWEST_SHARED:
        return f"a rater shares fewer than {FEWEST_SHARED} items with others"
    if min(np.ptp(column[np.isfinite(column)]) for column in scores.T) == 0:
        return "a rater gave all items one score"
    together = csr_matrix(shared.T.astype(int) @ shared.astype(int))
    return "raters fall into groups that share no item" if connected_components(together)[0] > 1 else ""


def _start(scores: Floats) -> list[Floats]:
    spread = np.nanvar(scores, axis=0)
    return [np.nanmean(scores, axis=0)[None], spread[None] / 2, np.array([[spread.mean() / 2]])]


def _climb(scores: Floats, weights: Floats, state: list[Floats]) -> tuple[list[Floats], Floats]:
    """Return levels (draws, raters), error variances (draws, raters), the items' variance (draws, 1); and the items' values."""
    scored = np.isfinite(scores).astype(float)
    y = np.where(scored > 0, scores, 0.0)
    floor = LEAST * float(np.nanvar(scores))
    counts, sums, squares, total = weights @ scored, weights @ y, weights @ (y * y), weights.sum(axis=1, keepdims=True)
    level, noise, spread = state
    for _ in range(STEPS):
        precision = 1 / spread + (1 / noise) @ scored.T
        values = ((1 / noise) @ y.T - (level / noise) @ scored.T) / precision
        weighted = weights * values
        second = (weights * (values**2 + 1 / precision)) @ scored
        new = (sums - weighted @ scored) / counts
        residual = (
            squares - 2 * new * sums + new**2 * counts - 2 * weighted @ y + 2 * new * (weighted @ scored) + second
        )
        centre = weighted.sum(axis=1, keepdims=True) / total
        next_spread = (weights * ((values - centre) ** 2 + 1 / precision)).sum(axis=1, keepdims=True) / total
        moved = max(float(np.abs(new + centre - level).max()), float(np.abs(next_spread - spread).max()))
        level, noise, spread = new + centre, np.maximum(residual / counts, floor), np.maximum(next_spread, floor)
        if moved < CLOSE * max(1.0, float(np.abs(level).max())):
            break
    return [level, noise, spread], values - centre


def _summary(state: list[Floats]) -> Floats:
    """Return mean, severities, errors, reliabilities and both agreements of each draw, (draws, 3 raters + 3)."""
    level, noise, spread = state
    mean = level.mean(axis=1, keepdims=True)
    apart = level.var(axis=1, ddof=1, keepdims=True)
    other = apart + noise.mean(axis=1, keepdims=True)
    both = [spread / (spread + other), spread / (spread + other / level.shape[1])]
    return np.hstack([mean, level - mean, np.sqrt(noise), spread / (spread + noise), *both])


def _ends(whole: float, parts: Floats, place: int, raters: int, sizes: Floats) -> Ends:
    """Return the interval of one number of the summary.

    Of an error it is a jackknife of the cube root of its variance, which is nearly normal (Wilson and Hilferty 1931), cut at 0;
    of a reliability, of the ratio of error and spread. The fit of a careful rater's error is often near 0, where logarithms are
    endless. Of an agreement it is a jackknife of log odds.
    """
    if place <= raters:
        return _jackknife(whole, parts, sizes)
    if place <= 2 * raters:
        return _cube_ends(whole**2, parts**2, sizes)
    if place <= 3 * raters:
        low, high = _cube_ends((1 - whole) / whole, (1 - parts) / parts, sizes)
        return 1 / (1 + high**2), 1 / (1 + low**2)
    low, high = _jackknife(float(logit(whole)), logit(parts), sizes)
    return float(expit(low)), float(expit(high))


def _cube_ends(variance: float, parts: Floats, sizes: Floats) -> Ends:
    """Return the interval of the root of a variance."""
    low, high = _jackknife(float(np.cbrt(variance)), np.cbrt(parts), sizes)
    return max(low, 0.0) ** 1.5, high**1.5


def _jackknife(whole: float, parts: Floats, sizes: Floats) -> Ends:
    pseudo = len(parts) * whole - (len(parts) - 1) * parts
    return mean_interval(pseudo, sizes) if np.isfinite(pseudo).all() else NONE
