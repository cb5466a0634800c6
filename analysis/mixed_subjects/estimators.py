"""Estimators of a mean or an effect from people and predictions. All are one formula with other weights of the predictions.

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
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from parley.analysis.bootstrap import FEWEST, LEVEL
from parley.analysis.mixed_subjects.sample import Arm, Floats, Sample

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

    The interval is Student's, with Satterthwaite's degrees of freedom.
    """
    weights = person_weights(sample, estimator)
    means = [float(own.mean()) if len(own) else NAN for own in weights]
    value, parts = 0.0, []
    for sign, arm, own in zip(sample.signs, sample.arms, weights, strict=True):
        residuals = arm.outcome - own * (arm.predicted - centre(arm))
        value += sign * float(residuals.mean()) if len(residuals) else NAN
        if arm.people > 1:
            parts.append((float(residuals.var(ddof=1)) / arm.people, arm.people - 1))
    if estimator.weight != "none":
        added, more = _others(sample, estimator, means)
        value, parts = value + added, parts + more
    return _with_interval(sample, value, parts, tuple(means))


def centre(arm: Arm) -> float:
    """Return a constant that is taken off all predictions of an arm. No estimate depends on it; errors of small samples do."""
    known = np.concatenate([arm.predicted, arm.others])
    return float(known.mean()) if len(known) else 0.0


def _others(sample: Sample, estimator: Estimator, weights: list[float]) -> tuple[float, list[tuple[float, int]]]:
    """What the people without an outcome add to the value, and the squared errors of it with their degrees of freedom."""
    signed = np.array(sample.signs) * weights
    if estimator.paired:
        assert sample.pairs is not None
        columns = [(sample.pairs - np.array([centre(arm) for arm in sample.arms])) @ signed]
    else:
        columns = [weight * (arm.others - centre(arm)) for weight, arm in zip(signed, sample.arms, strict=True)]
    errors = [(float(column.var(ddof=1)) / len(column), len(column) - 1) for column in columns]
    return float(sum(column.mean() for column in columns)), errors


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
    found = []
    for number in range(len(sample.arms)):
        arms = [without[at] if at == number else one for at, one in enumerate(moments)]
        tuned = tuned_weights(arms, crossed, estimator.weight == "by condition")
        found.append(np.broadcast_to(np.asarray(tuned[number], dtype=float), (sample.arms[number].people,)).copy())
    return found


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
    gains = [one.covariance / one.people for one in arms]
    costs = [one.variance / one.people for one in arms]
    if crossed is None:
        costs = [cost + one.variance / one.others for cost, one in zip(costs, arms, strict=True)]
        joint: Floats | float = 0.0
    else:
        matrix, size = crossed
        costs = [cost + matrix[at, at] / size for at, cost in enumerate(costs)]
        joint = -matrix[0, 1] / size
    if not by_condition:
        weight = _ratio(sum(gains), sum(costs) + (2 * joint if len(arms) == 2 else 0.0))
        return [weight] * len(arms)
    (first, second), (gain, other) = costs, gains
    determinant = first * second - np.square(joint)
    return [_ratio(gain * second - joint * other, determinant), _ratio(other * first - joint * gain, determinant)]


def _ratio(above: Floats | float, below: Floats | float) -> Floats:
    """Above / below; 0 where nothing is below."""
    known = np.asarray(below) > 0
    return np.where(known, np.asarray(above) / np.where(known, below, 1.0), 0.0)


def _crossed(sample: Sample) -> tuple[Floats, int]:
    assert sample.pairs is not None
    return np.cov(sample.pairs, rowvar=False), len(sample.pairs)
