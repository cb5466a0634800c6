"""Distances between distributions of answers. Arrays hold options along the last axis, and other axes broadcast."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, rel_entr

from parley.analysis.bootstrap import Floats


def total_variation(p: Floats, q: Floats) -> Floats:
    """Return half of the summed differences, from 0 (the same) to 1 (nothing in common).

    >>> float(total_variation(np.array([0.5, 0.5]), np.array([0.8, 0.2])).round(3))
    0.3
    """
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon distance (the root of the divergence, base 2), from 0 to 1. Source: Endres and Schindelin 2003.

    >>> float(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    1.0
    """
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * np.log(2))
    return np.asarray(np.sqrt(np.clip(divergence, 0.0, 1.0)))


def wasserstein(p: Floats, q: Floats, values: Floats) -> Floats:
    """Return how far answers have to be moved along their scale, as a share of its length (0 to 1).

    values: (k,) the place of each option; NaN for an option that is on no scale ("don't know"), which is left out. NaN where
    fewer than two places differ, and where all answers are left out.

    >>> float(wasserstein(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([1.0, 2, 3])))
    0.5
    """
    placed = np.flatnonzero(np.isfinite(values))
    order = placed[np.argsort(values[placed], kind="stable")]
    at = values[order]
    if len(at) < 2 or at[-1] == at[0]:
        return np.full(np.broadcast_shapes(p.shape, q.shape)[:-1], np.nan)
    apart = np.cumsum(_scaled(p[..., order]) - _scaled(q[..., order]), axis=-1)[..., :-1]
    return np.asarray((np.abs(apart) * np.diff(at)).sum(axis=-1) / (at[-1] - at[0]))


def _scaled(shares: Floats) -> Floats:
    total = shares.sum(axis=-1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.nan)


def relative_entropy(p: Floats) -> Floats:
    """Return the entropy as a share of that of even shares: 0 (all give one answer) to 1 (all options have the same share).

    >>> relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.0, 1.0]
    """
    return np.asarray(entr(p).sum(axis=-1) / np.log(p.shape[-1]))
