"""Ratings as predicted without themselves: instruments for what a rating says besides its own noise.

A rating is an opinion plus noise (a sampled answer, rounding to whole points). Regressed on a noisy rating, the next rating
seems to return to the mean, as if something pulled it. The noise of a rating is not in what is rated at other surveys, nor in
what other agents rate. What they predict is therefore an instrument for the opinion (Wald 1940, Annals of Mathematical
Statistics 11(3); Reiersøl 1941, Econometrica 9(1); for panels Griliches and Hausman 1986, Journal of Econometrics 31(1)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parley.analysis.statistics.intervals import Floats, nanmean

Codes = NDArray[np.int64]


def predict_ratings(levels: Floats, cell: Codes, cluster: Codes, kind: Codes) -> Floats:
    """Return ratings (n agents, t surveys) as predicted from other clusters and from earlier ratings of the same agent.

    levels (n, t): ratings; NaN: missing. cell (n,): agents of one cell are comparable (a party on a topic in a condition).
    cluster (n,): clusters are independent. kind (n,): agents whose ratings are equally noisy.

    The prediction is the mean rating of the cell at this survey in all other clusters (NaN: there is none), plus what the agent's
    earlier distances from such means tell about the present one: a regression per kind on the last distance and on the mean of
    all earlier ones. A first rating is predicted by the mean alone.

    >>> levels = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 9.0]])
    >>> predict_ratings(levels, np.zeros(3, int), np.arange(3), np.zeros(3, int))[:, 0].tolist()
    [5.5, 4.5, 2.0]
    """
    others = _means_elsewhere(levels, cell, cluster)
    away = levels - others
    earlier = _earlier(away)
    known = np.isfinite(earlier).all(axis=-1)
    predicted = others.copy()
    for number in np.unique(kind):
        usable = known & (kind == number)[:, None]
        fitted = usable & np.isfinite(away)
        shares = np.linalg.lstsq(earlier[fitted], away[fitted], rcond=None)[0]
        predicted[usable] += earlier[usable] @ shares
    return predicted


def _means_elsewhere(levels: Floats, cell: Codes, cluster: Codes) -> Floats:
    """Return the mean rating of each agent's cell at each survey (n, t), without the agent's own cluster."""
    ratings = np.stack([np.isfinite(levels), np.nan_to_num(levels)], axis=1)  # how many, and their sum
    inner = np.unique(np.column_stack([cell, cluster]), axis=0, return_inverse=True)[1].ravel()
    total, own = (np.zeros((int(np.max(codes, initial=0)) + 1, 2, levels.shape[1])) for codes in (cell, inner))
    for sums, codes in ((total, cell), (own, inner)):
        np.add.at(sums, codes, ratings)
    count, rest = np.moveaxis(total[cell] - own[inner], 1, 0)
    return np.asarray(np.divide(rest, count, out=np.full(levels.shape, np.nan), where=count > 0))


def _earlier(away: Floats) -> Floats:
    """Return the last known value before each survey, and the mean of all before it (n, t, 2); NaN where there is none."""
    earlier = np.full((*away.shape, 2), np.nan)
    for survey in range(1, away.shape[1]):
        before = away[:, survey - 1]
        earlier[:, survey, 0] = np.where(np.isfinite(before), before, earlier[:, survey - 1, 0])
        earlier[:, survey, 1] = nanmean(away[:, :survey], axis=1)
    return earlier
