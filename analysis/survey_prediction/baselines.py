"""Predictions without a model, from the known answers alone; NaN where a baseline has nothing to go by.

question    the share of 1 among the training answers to the question (none for unasked questions)
person      the share of 1 among the person's known answers
neighbours  the question's share, moved by the people of the training who answered most alike (none for unasked questions);
            collaborative filtering by correlation: Resnick et al. 1994, GroupLens
truth       the planted probability, for invented surveys: no prediction can be better on average
"""

from __future__ import annotations

import numpy as np

from parley.analysis.survey_prediction.answers import Floats, Survey
from parley.analysis.survey_prediction.splits import Split

QUESTION, PERSON, NEIGHBOURS, TRUTH = "question", "person", "neighbours", "truth"
NEAREST = 20
"""People whose answers count as those of neighbours."""


def baseline_predictions(survey: Survey, split: Split) -> dict[str, Floats]:
    """Return the predictions of each baseline: (people, questions)."""
    values = {
        QUESTION: np.tile(_shares(survey, split), (len(survey.people), 1)),
        PERSON: np.tile(_smoothed(survey.values, split.known, 1)[:, None], (1, len(survey.items))),
        NEIGHBOURS: _neighbours(survey, split),
    }
    return values if survey.truth is None else values | {TRUTH: survey.truth}


def _shares(survey: Survey, split: Split) -> Floats:
    shares = _smoothed(survey.values, split.training, 0)
    return np.where(split.training.any(axis=0), shares, np.nan)


def _smoothed(values: Floats, known: np.ndarray, axis: int) -> Floats:
    """Return the share of 1 along an axis, with one more 1 and one more 0 (Laplace), so that it is never 0 or 1."""
    ones = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray((ones + 1) / (known.sum(axis=axis) + 2), dtype=float)


def _neighbours(survey: Survey, split: Split) -> Floats:
    shares = _shares(survey, split)
    usual = np.nan_to_num(shares, nan=0.5)
    centred = np.where(split.known, np.nan_to_num(survey.values) - usual, 0.0)
    rated = split.training.astype(float)
    others = np.where(split.training, centred, 0.0)
    products = centred @ others.T
    sizes = np.sqrt(((centred**2) @ rated.T) * (split.known.astype(float) @ (others**2).T))
    likeness = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)
    np.fill_diagonal(likeness, 0.0)
    weak = np.sort(likeness, axis=1)[:, -min(NEAREST, len(likeness))][:, None]
    weights = np.where(likeness >= np.maximum(weak, 0.0), likeness, 0.0)
    weight = weights @ rated
    moved = np.divide(weights @ others, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray(np.clip(shares[None, :] + moved, 0.0, 1.0), dtype=float)
