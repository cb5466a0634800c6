"""Estimators of a mean or an effect from people and predictions: one formula with other weights.

    estimate = sum over arms of sign * [mean(outcome - weight * predicted) + weight * mean(others)]

A prediction may be wrong in any way: what it adds for people without an outcome is subtracted again for people with one.
Weight 0 leaves predictions out (difference in means), weight 1 takes them in full (GREG, DiP), a tuned weight has the smallest
variance (PPI++, doubly tuned, DiP++). The tuned weight of a person is computed without this person, so the estimate is unbiased
at any number of people, and no random split is needed. The standard error is that of the residuals with these weights.

Sources: Angelopoulos, Duchi and Zrnic 2023, PPI++ (arXiv 2311.01453); Broska, Howes and van Loon 2025, Mixed subjects design;
the R package mixedsubjects 1.0.0, whose variance divides the part of people without an outcome by the number of folds (ours does
not: the same predictions are used in every fold).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from parley.analysis.statistics.clusters import effective_clusters, error_of
from parley.analysis.statistics.intervals import (
    FEWEST,
    LEVEL,
    SHARE,
    Floats,
    bounded_ends,
    clustered_share_interval,
    is_few,
    share_interval,
)

from .people import Arm, Codes, Sample

NAN = math.nan


@dataclass(frozen=True)
class Estimator:
    """How predictions are weighted. weight: `none`, `one`, `tuned` (one weight), `by condition` (a weight per arm).

    paired: the predictions for people without an outcome are those of both conditions, person by person.
    """

    label: str
    weight: str
    paired: bool = False

    def fits(self, sample: Sample) -> bool:
        """Return whether the sample has the arms and predictions that the estimator needs."""
        if self.paired:
            return len(sample.arms) == 2 and sample.pairs is not None and len(sample.pairs) >= 2
        if self.weight == "by condition" and len(sample.arms) == 1:
            return False
        return self.weight == "none" or all(len(arm.others) >= 2 for arm in sample.arms)


PEOPLE_ALONE = "people alone"
ESTIMATORS: Mapping[str, Estimator] = {
    PEOPLE_ALONE: Estimator("people alone (difference in means)", "none"),
    "greg": Estimator("predictions in full (GREG)", "one"),
    "ppi++": Estimator("tuned (PPI++)", "tuned"),
    "doubly tuned": Estimator("tuned by condition (D-T)", "by condition"),
    "dip": Estimator("differences of predictions in full (DiP)", "one", paired=True),
    "dip++": Estimator("differences, tuned (DiP++)", "tuned", paired=True),
    "doubly tuned dip": Estimator("differences, tuned by condition (D-T DiP)", "by condition", paired=True),
}


@dataclass(frozen=True)
class Estimate:
    """A mean or effect with its standard error, degrees of freedom, 95% interval, and the mean weight in each arm.

    The interval is missing (NaN) below `FEWEST` people in an arm, and where nothing varies.
    """

    value: float
    error: float
    freedom: float
    low: float
    high: float
    weights: tuple[float, ...]


def estimate(sample: Sample, estimator: Estimator) -> Estimate:
    """Return the estimate of an estimator that fits the sample.

    The interval is Student's, with Satterthwaite's degrees of freedom. With clusters, all people of a cluster are left out at a
    time, and degrees of freedom are effective clusters less one (statistics/clusters.py). Shares (all outcomes 0 or 1) have
    Wilson's interval, with the error of the estimator (`bounded_ends`); a difference of two shares stays between -1 and 1.
    """
    weights = person_weights(sample, estimator)
    means = [float(arm_weights.mean()) if len(arm_weights) else NAN for arm_weights in weights]
    terms = list(_terms(sample, estimator, weights, means))
    value = float(sum(term.values.mean() if len(term.values) else NAN for term in terms))
    shares = all(set(np.unique(arm.outcome)) <= {0.0, 1.0} for arm in sample.arms)
    if shares and len(sample.arms) == 1 and estimator.weight == "none":
        return _of_share(sample.arms[0], tuple(means))
    estimated = _with_error(sample, value, terms, tuple(means))
    return _within_bounds(estimated, sample) if shares else estimated


def _with_error(sample: Sample, value: float, terms: list[_Term], weights: tuple[float, ...]) -> Estimate:
    if sample.cluster_sizes is not None:
        return _over_clusters(sample, value, terms, weights)
    parts = [
        (float(term.values.var(ddof=1)) / len(term.values), len(term.values) - 1)
        for term in terms
        if len(term.values) > 1
    ]
    return _with_interval(sample, value, parts, weights)


def _within_bounds(estimated: Estimate, sample: Sample) -> Estimate:
    """Return a share, or a difference of two, with value and interval within its bounds.

    Predictions can carry the value of a share below 0 or above 1; it is then at the bound. The error is taken to be that of the
    share among people with an outcome, which is kept one answer away from the bounds.
    """
    lowest, value = 1.0 - len(sample.arms), min(max(estimated.value, 1.0 - len(sample.arms)), 1.0)
    if len(sample.arms) > 1:
        ends = max(estimated.low, lowest), min(estimated.high, 1.0)
        low, high = ends if ends[0] < ends[1] else (NAN, NAN)
        return replace(estimated, value=value, low=low, high=high)
    outcome = sample.arms[0].outcome
    edge = 1 / (len(outcome) + 2)
    share = min(max(float(outcome.mean()), edge), 1 - edge)
    low, high = bounded_ends(value, (estimated.high - estimated.low) / 2, SHARE, at=share)
    return replace(estimated, value=value, low=low, high=high)


class _Term(NamedTuple):
    """Numbers of which the estimate has the mean, one a person, and their clusters."""

    values: Floats
    clusters: Codes | None


def _terms(sample: Sample, estimator: Estimator, weights: list[Floats], means: list[float]) -> Iterator[_Term]:
    """Yield what each group of people adds: those with an outcome by arm, and those without one."""
    for sign, arm, arm_weights in zip(sample.signs, sample.arms, weights, strict=True):
        yield _Term(sign * (arm.outcome - arm_weights * (arm.predicted - centre(arm))), arm.clusters)
    signed = np.array(sample.signs) * means
    if estimator.weight == "none":
        return
    if estimator.paired:
        assert sample.pairs is not None
        centres = np.array([centre(arm) for arm in sample.arms])
        yield _Term((sample.pairs - centres) @ signed, sample.clusters_of_pairs)
        return
    for weight, arm in zip(signed, sample.arms, strict=True):
        yield _Term(weight * (arm.others - centre(arm)), arm.clusters_of_others)


def _over_clusters(sample: Sample, value: float, terms: list[_Term], weights: tuple[float, ...]) -> Estimate:
    """Return the estimate with the error from leaving out one cluster of people at a time."""
    sizes = sample.cluster_sizes
    assert sizes is not None
    count = 1 + max(int(np.max(term.clusters, initial=0)) for term in terms if term.clusters is not None)
    steps, worth = np.zeros(count), effective_clusters(sizes)
    for values, clusters in terms:
        assert clusters is not None
        rows = np.bincount(clusters, minlength=count)
        sums = np.bincount(clusters, values - values.mean(), count)
        steps -= np.divide(sums, len(values) - rows, out=np.full(count, NAN), where=rows < len(values))
    error = error_of(steps)
    if is_few(worth) or not error > 0:
        return Estimate(value, NAN, NAN, NAN, NAN, weights)
    reach = float(stdtrit(worth - 1, (1 + LEVEL) / 2)) * error
    return Estimate(value, error, worth - 1, value - reach, value + reach, weights)


def _of_share(arm: Arm, weights: tuple[float, ...]) -> Estimate:
    """Return a share of people, with Wilson's interval: Student's of a rare answer missed the truth in 12 to 16%."""
    if not arm.people:
        return Estimate(NAN, NAN, NAN, NAN, NAN, weights)
    clusters = np.arange(arm.people) if arm.clusters is None else arm.clusters
    hits, sizes = np.bincount(clusters, arm.outcome).astype(float), np.bincount(clusters).astype(float)
    low, high = (
        share_interval(int(hits.sum()), arm.people) if arm.clusters is None else clustered_share_interval(hits, sizes)
    )
    error = NAN if math.isnan(low) else error_of((hits.sum() - hits) / (sizes.sum() - sizes))
    return Estimate(float(arm.outcome.mean()), error, effective_clusters(sizes) - 1, low, high, weights)


def centre(arm: Arm) -> float:
    """Return a constant that is taken off all predictions of an arm. No estimate depends on it; errors of small samples do."""
    predictions = np.concatenate([arm.predicted, arm.others])
    return float(predictions.mean()) if len(predictions) else 0.0


def _with_interval(
    sample: Sample, value: float, parts: list[tuple[float, int]], weights: tuple[float, ...]
) -> Estimate:
    squares = np.array([square for square, _ in parts])
    total = float(squares.sum())
    if sample.fewest < FEWEST or total <= 0:
        return Estimate(value, NAN, NAN, NAN, NAN, weights)
    freedom = total**2 / float(sum(square**2 / df for square, df in parts))
    error = math.sqrt(total)
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Estimate(value, error, freedom, value - reach, value + reach, weights)


def person_weights(sample: Sample, estimator: Estimator) -> list[Floats]:
    """Return for each arm the weight of the prediction of each person with an outcome, from all other people."""
    if estimator.weight in ("none", "one"):
        fixed = float(estimator.weight == "one")
        return [np.full(arm.people, fixed) for arm in sample.arms]
    moments = [Moments.of(arm) for arm in sample.arms]
    without = [Moments.without_each(arm) for arm in sample.arms]
    crossed = _crossed(sample) if estimator.paired else None
    weights = []
    for number in range(len(sample.arms)):
        arms = [without[at] if at == number else arm_moments for at, arm_moments in enumerate(moments)]
        tuned = tuned_weights(arms, crossed, estimator.weight == "by condition")
        weights.append(np.broadcast_to(np.asarray(tuned[number], dtype=float), (sample.arms[number].people,)).copy())
    return weights


@dataclass(frozen=True)
class Moments:
    """What the variance of an arm depends on: people, others, covariance of outcome and prediction, variance of predictions.

    Numbers, or arrays with one value per person left out.
    """

    people: float
    others: float
    covariance: Floats
    variance: Floats

    @classmethod
    def of(cls, arm: Arm) -> Moments:
        """The moments of all people of an arm. The variance is that of predictions for people with and without an outcome."""
        if arm.people < 2:
            return cls(arm.people, len(arm.others), np.array(0.0), np.array(0.0))
        covariance = np.cov(arm.outcome, arm.predicted)[0, 1]
        variance = np.concatenate([arm.predicted, arm.others]).var(ddof=1)
        return cls(arm.people, len(arm.others), np.asarray(covariance), np.asarray(variance))

    @classmethod
    def without_each(cls, arm: Arm) -> Moments:
        """The moments without each person in turn, (n,); 0 below three people."""
        n = arm.people
        if n < 3:
            return cls(n - 1, len(arm.others), np.zeros(n), np.zeros(n))
        # A sum of products about the mean loses n / (n - 1) of a person's own product when the person is left out.
        y, s = arm.outcome - arm.outcome.mean(), arm.predicted - arm.predicted.mean()
        covariance = ((y * s).sum() - y * s * n / (n - 1)) / (n - 2)
        pooled = np.concatenate([arm.predicted, arm.others])
        size, centred = len(pooled), arm.predicted - pooled.mean()
        variance = (((pooled - pooled.mean()) ** 2).sum() - centred**2 * size / (size - 1)) / (size - 2)
        return cls(n - 1, len(arm.others), covariance, variance)


def tuned_weights(arms: list[Moments], crossed: tuple[Floats, int] | None, by_condition: bool) -> list[Floats]:
    """Return the weight of each arm with the smallest variance of the estimate; 0 where predictions do not vary.

    crossed: for paired estimators, the covariance matrix of predictions in both conditions, and how many people have them.
    """
    gains = [arm.covariance / arm.people for arm in arms]
    costs = [arm.variance / arm.people for arm in arms]
    if crossed is None:
        costs = [cost + arm.variance / arm.others for cost, arm in zip(costs, arms, strict=True)]
        joint: Floats | float = 0.0
    else:
        matrix, size = crossed
        costs = [cost + matrix[at, at] / size for at, cost in enumerate(costs)]
        joint = -matrix[0, 1] / size
    if not by_condition:
        weight = _ratio(sum(gains), sum(costs) + (2 * joint if len(arms) == 2 else 0.0))
        return [weight] * len(arms)
    # The variance is least where [first joint; joint second] times the weights is the gains: two equations, by Cramer's rule.
    (first, second), (gain, other) = costs, gains
    determinant = first * second - np.square(joint)
    return [_ratio(gain * second - joint * other, determinant), _ratio(other * first - joint * gain, determinant)]


def _ratio(above: Floats | float, below: Floats | float) -> Floats:
    """Above / below; 0 where nothing is below."""
    positive = np.asarray(below) > 0
    return np.where(positive, np.asarray(above) / np.where(positive, below, 1.0), 0.0)


def _crossed(sample: Sample) -> tuple[Floats, int]:
    assert sample.pairs is not None
    return np.cov(sample.pairs, rowvar=False), len(sample.pairs)
