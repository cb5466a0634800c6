"""Labels shuffled over rooms: does it matter which condition a room had? Exact in what it assumes, and it assumes little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats
from parley.analysis.statistics.results import Result
from parley.llm.seeding import derive

DRAWS = 9_999


def permutation_test(
    effect: str, rooms: pd.DataFrame, value: str, label: str, strata: Sequence[str] = (), unit: str = "room"
) -> Result:
    """Are the means of `value` by `label` further apart than those of shuffled labels? One row a room.

    Labels are shuffled within strata (a topic's rooms among themselves), whose means are taken out first. The statistic, and
    the estimate, is the share of variance within strata that the labels explain (eta squared). p counts the true labels
    as one of the draws (Phipson and Smyth 2010). Below five rooms a label there is no test: with two and two no draw is rare.
    """
    kept = rooms[[value, label, *strata]].dropna()
    begun = Result(effect, unit, len(kept), "eta squared", "permutation of labels")
    within = kept.groupby(list(strata))[value] if strata else None
    centred = (kept[value] - (within.transform("mean") if within is not None else kept[value].mean())).to_numpy(
        dtype=float
    )
    labels = kept[label].astype("category").cat.codes.to_numpy()
    whole = float(centred @ centred)
    if kept[label].nunique() < 2 or whole == 0:
        return replace(begun, reason="one condition only, or no room differs from another")
    blocks = (
        [np.asarray(places) for places in within.indices.values()] if within is not None else [np.arange(len(kept))]
    )
    if kept[label].value_counts().min() < FEWEST:
        return replace(
            begun, estimate=_between(centred, labels) / whole, reason=f"fewer than {FEWEST} units a condition"
        )
    rng = np.random.default_rng(derive(0, "permutation", effect))
    true = _between(centred, labels)
    as_far = sum(_between(centred, _drawn(labels, blocks, rng)) >= true - 1e-12 * whole for _ in range(DRAWS))
    return replace(begun, estimate=true / whole, statistic=true, p=(as_far + 1) / (DRAWS + 1))


def _between(centred: Floats, labels: np.ndarray) -> float:
    """Sum of squares of the labels' means."""
    sums, counts = np.bincount(labels, centred), np.bincount(labels)
    return float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())


def _drawn(labels: np.ndarray, blocks: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    drawn = labels.copy()
    for places in blocks:
        drawn[places] = rng.permutation(labels[places])
    return drawn
