"""Categories coded by several raters: the error of each rater, and shares of the categories corrected for these errors.

Every item has one true category that no rater may have seen. A rater gives the code l to an item of category j with the
probability errors[rater, j, l], independently of other raters. EM finds the most likely shares and errors (Dawid and Skene 1979,
Applied Statistics 28(1), 20-28). `smoothing` is added to every cell of the expected counts, so that no error is exactly 0;
without it the fit is that of the paper. Intervals are on the scale of log odds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from parley.analysis.statistics.intervals import LEVEL, Ends, Floats

SMOOTHING, STEPS, CLOSE, STEP, EDGE = 0.1, 2000, 1e-8, 1e-5, 1e-6
"""Added to each expected count; steps of EM at most; the change of shares at which it has arrived; the step of numeric slopes;
how near a probability comes to 0 and 1 on the scale of log odds."""
FEWEST_RATERS, FEWEST_ITEMS = 3, 20
"""With fewer raters of items, errors of raters cannot be separated from differences between items."""


@dataclass(frozen=True)
class LatentClasses:
    """shares (k,) of the categories; errors (raters, k, k): true category by code; items (n, k): probabilities of each item."""

    shares: Floats
    errors: Floats
    items: Floats


def fit_classes(counts: Floats, smoothing: float = SMOOTHING) -> LatentClasses:
    """Return the fit to counts (items, raters, k) of how often a rater gave a code to an item (all 0: not rated).

    EM begins with the share of each code among the codes of an item, so every item needs one.
    """
    code_counts = counts.sum(axis=1)
    items = code_counts / code_counts.sum(axis=1, keepdims=True)
    before = np.full(items.shape[1], np.inf)
    for _ in range(STEPS):
        shares = items.mean(axis=0)
        expected = np.einsum("ij,irl->rjl", items, counts) + smoothing
        sums = expected.sum(axis=2, keepdims=True)
        errors = np.divide(expected, sums, out=np.zeros_like(expected), where=sums > 0)
        logs = np.log(np.maximum(errors, 1e-300))  # an error of 0 has no logarithm
        likely = np.log(np.maximum(shares, 1e-300)) + np.einsum("irl,rjl->ij", counts, logs)
        # the likeliest category becomes 1, so that not all are rounded to 0
        items = np.exp(likely - likely.max(axis=1, keepdims=True))
        items /= items.sum(axis=1, keepdims=True)
        if np.abs(shares - before).max() < CLOSE:
            break
        before = shares
    return LatentClasses(shares, errors, items)


def wrong_codes(fit: LatentClasses) -> Floats:
    """Return for each rater the probability of another code than the true category, (raters,)."""
    return np.asarray(1 - np.einsum("j,rjj->r", fit.shares, fit.errors))


def class_intervals(counts: Floats, fit: LatentClasses, values: Callable[[LatentClasses], Floats]) -> list[Ends]:
    """Return 95% intervals of probabilities that follow from a fit, such as `wrong_codes`.

    The covariance is the inverse of the observed information (Louis 1982), in log odds against the last category.
    """
    shares, errors = np.log(np.maximum(fit.shares, EDGE)), np.log(np.maximum(fit.errors, EDGE))
    raters, k = errors.shape[:2]
    information = _information(counts, fit)
    theta = np.concatenate([(shares - shares[-1])[:-1], (errors - errors[..., -1:])[..., :-1].ravel()])

    def odds(point: Floats) -> Floats:
        ends = np.append(point[: k - 1], 0.0)
        cells = np.concatenate([point[k - 1 :].reshape(raters, k, k - 1), np.zeros((raters, k, 1))], axis=2)
        moved = LatentClasses(_shares_of(ends), _shares_of(cells), fit.items)
        return np.asarray(logit(np.clip(values(moved), EDGE, 1 - EDGE)))

    middle = odds(theta)
    slopes = np.array(
        [
            (odds(theta + STEP * direction) - odds(theta - STEP * direction)) / (2 * STEP)
            for direction in np.eye(len(theta))
        ]
    )
    variance = np.maximum(np.einsum("pv,pq,qv->v", slopes, np.linalg.pinv(information), slopes), 0.0)
    reach = float(ndtri((1 + LEVEL) / 2)) * np.sqrt(variance)
    return [
        (float(expit(at - half_width)), float(expit(at + half_width)))
        for at, half_width in zip(middle, reach, strict=True)
    ]


def _information(counts: Floats, fit: LatentClasses) -> Floats:
    """Return the information of known categories minus what is lost because they are not known (Louis 1982, JRSS B 44(2))."""
    (n, raters, k), cells = counts.shape, fit.errors
    scores = np.zeros((n, k, k - 1 + raters * k * (k - 1)))
    scores[:, :, : k - 1] = (np.eye(k) - fit.shares)[:, : k - 1]
    gaps = counts[:, :, None, :] - counts.sum(axis=2)[:, :, None, None] * cells[None]
    blocks = scores[:, :, k - 1 :].reshape(n, k, raters, k, k - 1)
    for category in range(k):
        blocks[:, category, :, category] = gaps[:, :, category, : k - 1]
    scores[:, :, k - 1 :] = blocks.reshape(n, k, -1)
    means = np.einsum("ij,ijp->ip", fit.items, scores)
    lost = np.einsum("ij,ijp,ijq->pq", fit.items, scores, scores, optimize=True) - means.T @ means
    complete = np.zeros(lost.shape)
    complete[: k - 1, : k - 1] = n * (np.diag(fit.shares) - np.outer(fit.shares, fit.shares))[: k - 1, : k - 1]
    seen = np.einsum("ij,ir->rj", fit.items, counts.sum(axis=2)) + k * SMOOTHING
    for place, (weight, rates) in enumerate(zip(seen.ravel(), cells.reshape(-1, k), strict=True)):
        at = slice(k - 1 + place * (k - 1), k - 1 + (place + 1) * (k - 1))
        complete[at, at] = weight * (np.diag(rates) - np.outer(rates, rates))[: k - 1, : k - 1]
    return np.asarray(complete - lost)


def _shares_of(logs: Floats) -> Floats:
    powers = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
