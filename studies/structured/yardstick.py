"""Are results in a paper's own words further from ours than ours in other words are? Distances, and chance's share.

The distance of a wording is the mean absolute difference from ours over topics and parties, of a quantity of a run: the mean
score of a party's statements, or their slope. Noise alone gives distances above 0, so none is read by itself: the paper's wording
is compared with a rewording of ours. If the two are alike, their runs can be exchanged: in DRAWS draws the labels of runs of
both are shuffled within each topic (a run keeps all its agents), and P is the share of draws in which the distances differ at
least as much. With fewer than FEWEST runs a wording and topic there is no test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.scores.table import Of, by_run, mean_of
from parley.analysis.statistics.intervals import FEWEST, Floats, nanmean, slope
from parley.llm.seeding import derive

DRAWS = 999
QUANTITIES: Mapping[str, Of] = {"mean score": mean_of, "points per statement": slope}


def distances(scores: pd.DataFrame, parties: Mapping[str, str], conditions: tuple[str, ...]) -> pd.DataFrame:
    """Return one row per quantity: quantity, runs (the fewest), reworded and published (distances), further, p, reason.

    scores: of the conditions, as `contrasts.by_party` takes them. conditions: ours, ours in other words, the paper's. further:
    in how many of `cells` (topics times parties) the paper's wording is further from ours.
    """
    return pd.DataFrame([_row(name, of, scores, parties, conditions) for name, of in QUANTITIES.items()])


def _row(
    name: str, of: Of, scores: pd.DataFrame, parties: Mapping[str, str], conditions: tuple[str, ...]
) -> dict[str, Any]:
    topics = [_values(of, topic_scores, parties, conditions) for _, topic_scores in scores.groupby("topic", sort=False)]
    labels = [frame.index.get_level_values("condition").to_numpy() for frame in topics]
    values = [frame.to_numpy(dtype=float) for frame in topics]
    runs = min(int((label == name_).sum()) for label in labels for name_ in conditions)
    gaps = np.concatenate(
        [_gaps(table, label, conditions) for table, label in zip(values, labels, strict=True)], axis=1
    )
    row = {"quantity": name, "runs": runs, "cells": int(np.isfinite(gaps).all(axis=0).sum()), "p": np.nan, "reason": ""}
    row |= dict(zip(("reworded", "published"), nanmean(gaps, axis=1), strict=True)) | {
        "further": int((gaps[1] > gaps[0]).sum())
    }
    if not row["cells"]:
        return row | {"reason": "no party has scores in all wordings"}
    if runs < FEWEST:
        return row | {"reason": f"fewer than {FEWEST} runs a wording"}
    rng, true = np.random.default_rng(derive(0, "wordings", name)), _excess(gaps)
    drawn = [_excess(_shuffled_gaps(values, labels, conditions, rng)) for _ in range(DRAWS)]
    return row | {"p": (1 + int((np.abs(drawn) >= abs(true) * (1 - 1e-9)).sum())) / (DRAWS + 1)}


def _values(of: Of, scores: pd.DataFrame, parties: Mapping[str, str], conditions: tuple[str, ...]) -> pd.DataFrame:
    """Return the value of each run (rows) and party (columns) of one topic."""
    kept = (
        scores[scores["condition"].isin(conditions)].assign(party=scores["agent"].map(parties)).dropna(subset=["party"])
    )
    by_party = {
        party: by_run(party_scores, of).set_index(["condition", "run"])["value"]
        for party, party_scores in kept.groupby("party", sort=False)
    }
    return pd.DataFrame(by_party)


def _gaps(values: Floats, labels: np.ndarray, conditions: tuple[str, ...]) -> Floats:
    """Return how far the other two conditions are from the first, by party: (2, parties); NaN if one of the three lacks it."""
    ours, *others = (nanmean(values[labels == name]) for name in conditions)
    apart: Floats = np.abs(np.array([other - ours for other in others]))
    return np.where(np.isfinite(apart).all(axis=0), apart, np.nan)


def _excess(gaps: Floats) -> float:
    return float(nanmean(gaps[1] - gaps[0]))


def _shuffled_gaps(
    values: list[Floats], labels: list[np.ndarray], conditions: tuple[str, ...], rng: np.random.Generator
) -> Floats:
    """Return the distances with the runs of the last two conditions exchanged by chance, within topics."""
    parts = []
    for table, label in zip(values, labels, strict=True):
        shuffled, others = label.copy(), label != conditions[0]
        shuffled[others] = rng.permutation(label[others])
        parts.append(_gaps(table, shuffled, conditions))
    return np.concatenate(parts, axis=1)
