"""How well predicted probabilities find the answers of people: AUC, correlations, their intervals, and the null.

auc        the probability that an answer of 1 was predicted higher than an answer of 0, over all answers of a test set. Interval
           over people, whose answers are not independent: Obuchowski 1997, Biometrics 53(2) (DeLong's placements, by cluster,
           as if each person was left out in turn); people with many answers count as in analysis/statistics/clusters.py
auc_within the same between people within each question, averaged over questions that five or more people answered, two or
           more of them each way, weighted by these; 0.5 without knowledge of the person. Interval over people too: the same
           people answer all questions, so questions are not independent. Each person is left out in turn, exactly: in a
           question of few people placements are too near to each other
r          Pearson's correlation of probability and answer, over all answers. Interval over people
rho        Pearson's correlation of the predicted and the observed (weighted) share of 1, over questions. Interval over questions
brier      the mean squared error of the probability. Interval over people

Predictions without a model, from the known answers alone; NaN where a baseline has nothing to go by:

question    the share of 1 among the training answers to the question (none for unasked questions)
person      the share of 1 among the person's known answers
neighbours  the question's share, moved by the people of the training who answered most alike (none for unasked questions);
            collaborative filtering by correlation: Resnick et al. 1994, GroupLens
truth       the planted probability, for invented surveys: no prediction can be better on average
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from parley.analysis.statistics.clusters import effective_clusters
from parley.analysis.statistics.intervals import (
    FEWEST,
    SHARE,
    Ends,
    Floats,
    correlation,
    correlation_interval,
    mean_interval,
    reach_of_mean,
    with_interval,
)
from parley.analysis.statistics.null import Null
from parley.llm.seeding import derive

from .survey import Mask, Split, Survey

MEASURES: Mapping[str, str] = {
    "auc": "the chance that an answer of 1 was predicted higher than an answer of 0",
    "auc_within": "the AUC between people within a question, averaged over questions (0.5: nothing known of the person)",
    "r": "correlation of probability and answer",
    "rho": "correlation of predicted and observed shares, over questions",
    "brier": "mean squared error of the probability",
}
SHUFFLES = 200
EITHER = 2
"""Answers of 1, and of 0, that a question needs for an AUC of its own."""


class ClusteredAuc(NamedTuple):
    """An AUC, how far it moves if each person is left out, and what each person weighs in it (these sum to 1). NaN without both
    answers."""

    value: float
    steps: Floats
    sizes: Floats

    def interval(self) -> Ends:
        """Return the 95% interval over people."""
        return _around(self.value, self.steps, self.sizes)


def clustered_auc(answers: Floats, predicted: Floats, people: np.ndarray, count: int) -> ClusteredAuc:
    """Return the AUC of predictions. answers: 0 or 1. people: the number (from 0 to count - 1) of each answer's person.

    >>> clustered_auc(np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.9, 0.1, 0.4, 0.6]), np.arange(4), 4).value
    0.75
    """
    ones, zeros = predicted[answers == 1], predicted[answers == 0]
    if not len(ones) or not len(zeros):
        return ClusteredAuc(math.nan, np.full(count, np.nan), np.zeros(count))
    ranks = rankdata(predicted)
    above = (ranks[answers == 1] - rankdata(ones)) / len(zeros)
    below = 1 - (ranks[answers == 0] - rankdata(zeros)) / len(ones)
    value, parts = float(above.mean()), np.zeros(count)
    np.add.at(parts, people[answers == 1], (above - value) / len(ones))
    np.add.at(parts, people[answers == 0], (below - value) / len(zeros))
    sizes = np.bincount(people, minlength=count) / len(people)
    return ClusteredAuc(value, -parts / np.maximum(1 - sizes, 1e-9), sizes)


def _around(value: float, steps: Floats, sizes: Floats) -> Ends:
    steps = steps[sizes > 0]
    error = math.sqrt(max(len(steps) - 1, 0) / max(len(steps), 1) * float((steps**2).sum()))
    reach = float(reach_of_mean(np.array([error]), np.array([effective_clusters(sizes)]))[0])
    return value - reach, value + reach


def auc_within(answers: Floats, predicted: Floats, people: np.ndarray, items: np.ndarray, count: int) -> ClusteredAuc:
    """Return the AUCs within questions, averaged with weights by their people. items: the number of each answer's question.

    Counted are questions that FEWEST people answered, EITHER of them each way; NaN without one. The weight of a question with
    m answers of 1 and n of 0 is m n / (m + n).

    >>> right, wrong = np.array([0.9, 0.8, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.8, 0.9])
    >>> asked = {"people": np.tile(np.arange(5), 2), "items": np.repeat([0, 1], 5), "count": 5}
    >>> float(auc_within(np.tile([1.0, 1.0, 0.0, 0.0, 0.0], 2), np.concatenate([right, wrong]), **asked).value)
    0.5
    """
    ones, totals = np.bincount(items, answers), np.bincount(items)
    counted = np.flatnonzero((totals >= FEWEST) & (ones >= EITHER) & (totals - ones >= EITHER))
    if not len(counted):
        return ClusteredAuc(math.nan, np.full(count, np.nan), np.zeros(count))
    # A question of few people says little, and its error is hardly known: with equal weights 24% of intervals miss
    weights = ones[counted] * (totals - ones)[counted] / totals[counted]
    total, sizes = weights.sum(), np.zeros(count)
    value, won, left = 0.0, np.zeros(count), np.full(count, total)
    for item, weight in zip(counted, weights, strict=True):
        of_item = items == item
        auc, without, lighter = _left_out(answers[of_item], predicted[of_item])
        value += weight * auc / total
        won += weight * auc
        won[people[of_item]] += lighter * without - weight * auc
        left[people[of_item]] += lighter - weight
        sizes[people[of_item]] += weight / total / of_item.sum()
    return ClusteredAuc(float(value), won / left - value, sizes)


def _left_out(answers: Floats, predicted: Floats) -> tuple[float, Floats, Floats]:
    """Return the AUC of a question, that without each of its people, and its weight without each."""
    ones, zeros = (answers == 1).astype(float), (answers == 0).astype(float)
    wins = np.where(answers == 1, _below(predicted, predicted[answers == 0]), 0.0)
    wins = np.where(answers == 0, (answers == 1).sum() - _below(predicted, predicted[answers == 1]), wins)
    whole, more, fewer = float(wins[answers == 1].sum()), ones.sum() - ones, zeros.sum() - zeros
    return whole / (ones.sum() * zeros.sum()), (whole - wins) / (more * fewer), more * fewer / (more + fewer)


def _below(values: Floats, others: Floats) -> Floats:
    """Return how many of the others are below each value; equal ones count half."""
    sorted_ = np.sort(others)
    return (np.searchsorted(sorted_, values, "left") + np.searchsorted(sorted_, values, "right")) / 2


def measure(values: Floats, predicted: Floats, mask: Mask, weights: Floats) -> dict[str, float]:
    """Return the measures of the answers in a test set that have a prediction, with `_low` and `_high`.

    people, questions, answers: what they are over. lacking: answers of the test set without a prediction.
    """
    usable = mask & np.isfinite(predicted)
    people, items = np.nonzero(usable)
    answers, guesses = values[usable], predicted[usable]
    whole = clustered_auc(answers, guesses, people, len(values))
    within = auc_within(answers, guesses, people, items, len(values))
    sums = _sums(guesses, answers, people)
    shares = _share_sums(values, predicted, usable, weights)
    squares = pd.Series((guesses - answers) ** 2).groupby(people).mean().to_numpy(dtype=float)
    row: dict[str, float] = {
        "people": len(np.unique(people)), "questions": len(np.unique(items)), "answers": len(answers),
        "lacking": int(mask.sum() - usable.sum()),
    }  # fmt: skip
    estimates: dict[str, tuple[float, Ends]] = {
        "auc": (whole.value, whole.interval()),
        "auc_within": (within.value, within.interval()),
        "r": (float(correlation(sums.sum(axis=0))), correlation_interval(sums)),
        "rho": (float(correlation(shares.sum(axis=0))), correlation_interval(shares)),
        "brier": (float(squares.mean()) if len(squares) else math.nan, mean_interval(squares, bounds=SHARE)),
    }
    for name, (value, ends) in estimates.items():
        low, high = np.clip(ends, -1.0 if name in ("r", "rho") else 0.0, 1.0)
        row |= with_interval(name, value, (low, high))
    return row


def _auc(answers: Floats, predicted: Floats) -> float:
    return clustered_auc(answers, predicted, np.zeros(len(answers), dtype=int), 1).value


def _sums(x: Floats, y: Floats, groups: np.ndarray) -> Floats:
    rows = pd.DataFrame(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]))
    return np.asarray(rows.groupby(groups).sum(), dtype=float).reshape(-1, 6)


def _share_sums(values: Floats, predicted: Floats, usable: Mask, weights: Floats) -> Floats:
    """Return one row per question for `correlation`: x its predicted share, y its observed share."""
    of = np.where(usable, weights[:, None], 0.0)
    has_weight = of.sum(axis=0) > 0
    total = of.sum(axis=0)[has_weight]
    x, y = ((of * np.where(usable, numbers, 0.0)).sum(axis=0)[has_weight] / total for numbers in (predicted, values))
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def auc_difference(values: Floats, predicted: Floats, other: Floats, mask: Mask) -> dict[str, float]:
    """Return the AUC of `predicted` minus that of `other`, on the answers that both predict, with its interval over people."""
    usable = mask & np.isfinite(predicted) & np.isfinite(other)
    people, answers = np.nonzero(usable)[0], values[usable]
    first, second = (clustered_auc(answers, guesses[usable], people, len(values)) for guesses in (predicted, other))
    difference = first.value - second.value
    low, high = _around(difference, first.steps - second.steps, first.sizes)
    counts = {"people": len(np.unique(people)), "answers": len(answers)}
    return counts | {"difference": difference, "difference_low": low, "difference_high": high}


def shuffled_range(values: Floats, predicted: Floats, mask: Mask, seed: int) -> Ends:
    """Return where 95% of AUCs are if each person of the test set gets all answers of another one.

    The shares of the questions stay, and so do the ties between the answers of a person, so the range is what predictions give
    that know nothing of the person. (nan, nan) without both answers.
    """
    usable = mask & np.isfinite(predicted)
    people, guesses = np.flatnonzero(usable.any(axis=1)), predicted[usable]
    rng, results = np.random.default_rng(derive(seed, "shuffled answers")), []
    for _ in range(SHUFFLES):
        order = np.arange(len(values))
        order[people] = rng.permutation(people)
        dealt = values[order][usable]
        there = np.isfinite(dealt)
        results.append(_auc(dealt[there], guesses[there]))
    if not np.isfinite(results).all():
        return math.nan, math.nan
    return Null(np.array(results)).band


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


def _smoothed(values: Floats, mask: np.ndarray, axis: int) -> Floats:
    """Return the share of 1 along an axis, with one more 1 and one more 0 (Laplace), so that it is never 0 or 1."""
    ones = np.where(mask, values, 0.0).sum(axis=axis)
    return np.asarray((ones + 1) / (mask.sum(axis=axis) + 2), dtype=float)


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
