"""How many equal clusters unequal ones are worth, and errors of coefficients from leaving out one cluster at a time.

A cluster is what is independent: a room, a person. If one of ten people gave half of all answers, an interval with nine degrees
of freedom misses the truth in up to half of the data sets. Kish's effective number, less one, sets them instead. With errors that
leave out one cluster at a time, intervals then miss in about 5%, also for lognormal sizes (docs/exam.md, `heavy` and `tailed`).
Sources: Kish 1965, Survey Sampling, section 11.7; Carter, Schnepel and Steigerwald 2017, Review of Economics and Statistics
99(4); of leaving out one cluster (CR3): MacKinnon, Nielsen and Webb 2023, Journal of Applied Econometrics 38(5).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def effective_clusters(sizes: Floats) -> float:
    """Return how many clusters of one size are worth these. sizes: what each weighs, 0 or more; 0 without any.

    >>> effective_clusters(np.full(10, 4.0)), round(effective_clusters(np.array([100.0, *[4.0] * 9])), 2)
    (10.0, 1.82)
    """
    total = float(np.sum(sizes))
    return total**2 / float(np.sum(np.square(sizes))) if total > 0 else 0.0


def steps_without(grams: Floats, scores: Floats) -> Floats:
    """Return how far the coefficients move if a cluster is left out, (clusters, p): exact for least squares, one step of a logit.

    grams: (clusters, p, p), X'X of the rows of each cluster (of a logit weighted by its variances). scores: (clusters, p),
    X'(y - fitted).

    >>> steps_without(np.full((2, 1, 1), 2.0), np.array([[1.0], [-1.0]])).tolist()  # means 0.5 and -0.5
    [[-0.5], [0.5]]
    """
    rest = np.linalg.pinv(grams.sum(axis=0) - grams, hermitian=True)
    return np.asarray(-np.einsum("gij,gj->gi", rest, scores))


def error_of(steps: Floats) -> float:
    """Return the jackknife's standard error of a number that moves by these steps without each cluster (or has these values)."""
    clusters = len(steps)
    return math.sqrt((clusters - 1) / clusters * float(((steps - steps.mean()) ** 2).sum()))
