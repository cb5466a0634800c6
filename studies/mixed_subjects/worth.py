"""What the predictions of a model are worth in people, and how many people to ask.

Of the variance of an estimate, predictions that correlate with outcomes by r (within a condition) leave 1 - r² m / (n + m),
where n people have an outcome and m others have a prediction alone. So n people with the model estimate as precisely as
n / (1 - r² m / (n + m)) people without it; the difference is what the model is worth. Source: Broska, Howes and van Loon 2025.
Where a file has repeated measurements of a person, the correlation is also given without measurement error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from parley.analysis.statistics.attenuation import correct_correlation, correction_sentence
from parley.analysis.statistics.intervals import FEWEST, LEVEL, NONE, Floats, correlation_interval

from .people import AGAIN, CONDITION, OUTCOME, PREDICTED, Arm, People, Sample

FEWEST_PEOPLE = 10
"""Below this number of people in a condition, what a model is worth is unknown."""
MOST_KURTOSIS = 5.0
"""Beyond it a few people with extreme outcomes, or predictions, make the correlation, and its interval misses in 9 to 12%. The
normal distribution has 3."""
SHUFFLES = 400


@dataclass(frozen=True)
class Worth:
    """What a model is worth. r: correlation within conditions; low, high: its interval. people: n; others: m (of all conditions).

    null: what 95% of shuffled predictions are worth at most. The worth is missing (NaN) below `FEWEST_PEOPLE`, and has no
    interval where the kurtosis of outcomes or predictions is above `MOST_KURTOSIS`.
    """

    r: float
    low: float
    high: float
    people: int
    others: int
    null: float

    @property
    def worth(self) -> tuple[float, float, float]:
        """People that the predictions replace: estimate and interval (0 as its lower end if r may be 0)."""
        return self._span(self.others)

    @property
    def ceiling(self) -> tuple[float, float, float]:
        """The same with predictions for endless others."""
        return self._span(math.inf)

    @property
    def sizes(self) -> tuple[float, float]:
        """The smallest and the largest size of r in its interval."""
        ends = sorted((abs(self.low), abs(self.high)))
        return (0.0 if self.low <= 0 <= self.high else ends[0]), ends[1]

    def _span(self, others: float) -> tuple[float, float, float]:
        middle, low, high = (people_worth(r, self.people, others) for r in (self.r, *self.sizes))
        return middle, low, high


def people_worth(r: float, people: float, others: float) -> float:
    """Return how many people predictions with this correlation replace; NaN if r is unknown.

    >>> round(people_worth(0.5, 100, 300), 1)
    23.1
    >>> round(people_worth(0.5, 100, math.inf), 1)
    33.3
    """
    share = 1.0 if math.isinf(others) else others / (people + others) if others else 0.0
    left = 1 - r * r * share
    return people / left - people if left > 0 else math.inf


def measure_worth(sample: Sample, rng: np.random.Generator) -> Worth:
    """Return what the predictions of a sample are worth; all NaN below `FEWEST_PEOPLE` in a condition, or if nothing varies."""
    others = 2 * len(sample.pairs) if sample.pairs is not None else sum(len(arm.others) for arm in sample.arms)
    people = sample.people
    if sample.fewest < FEWEST_PEOPLE:
        return Worth(math.nan, math.nan, math.nan, people, others, math.nan)
    y, s = (np.concatenate(parts) for parts in zip(*map(_deviations, sample.arms), strict=True))
    if not float((y * y).sum() * (s * s).sum()) > 0:
        return Worth(math.nan, math.nan, math.nan, people, others, math.nan)
    terms = pd.DataFrame(np.column_stack([np.ones_like(y), y, s, y * y, s * s, y * s]))
    codes = [arm.clusters for arm in sample.arms if arm.clusters is not None]
    sums = terms.groupby(np.concatenate(codes) if codes else terms.index).sum()
    extreme = max(_kurtosis(y), _kurtosis(s)) > MOST_KURTOSIS
    low, high = NONE if extreme else correlation_interval(sums.to_numpy(dtype=float))
    lots = [np.concatenate([rng.permutation(stratum) for stratum in _split(s, sample)]) for _ in range(SHUFFLES)]
    null = float(np.quantile([people_worth(_r(y, lot), people, others) for lot in lots], LEVEL))
    return Worth(_r(y, s), low, high, people, others, null)


def _deviations(arm: Arm) -> tuple[Floats, Floats]:
    return arm.outcome - arm.outcome.mean(), arm.predicted - arm.predicted.mean()


def _kurtosis(deviations: Floats) -> float:
    return len(deviations) * float((deviations**4).sum()) / float((deviations**2).sum()) ** 2


def _split(values: Floats, sample: Sample) -> list[Floats]:
    return np.split(values, np.cumsum([arm.people for arm in sample.arms])[:-1])


def _r(y: Floats, s: Floats) -> float:
    return float((y * s).sum()) / math.sqrt(float((y * y).sum() * (s * s).sum()))


def people_needed(sample: Sample, r: float, reaches: Sequence[float]) -> pd.DataFrame:
    """Return how many people a condition need an outcome, for intervals of plus or minus `reaches`: alone, and with predictions.

    Columns: reach, alone, with (endless predictions). r: the correlation within conditions. By Student's t, and at
    least `FEWEST_PEOPLE`.
    """
    spread, arms = sum(float(arm.outcome.var(ddof=1)) for arm in sample.arms), len(sample.arms)
    rows = [
        (reach, _fewest_people(spread, arms, reach), _fewest_people(spread * (1 - r * r), arms, reach))
        for reach in reaches
    ]
    return pd.DataFrame(rows, columns=["reach", "alone", "with"])


def _fewest_people(spread: float, arms: int, reach: float) -> int:
    """Return the smallest number of people a condition with such an interval. spread: the sum of the variances of conditions."""
    people = max(FEWEST_PEOPLE, math.ceil(spread * (float(ndtri((1 + LEVEL) / 2)) / reach) ** 2))
    while float(stdtrit(arms * (people - 1), (1 + LEVEL) / 2)) * math.sqrt(spread / people) > reach:
        people += 1
    return people


@dataclass(frozen=True)
class Purchase:
    """How to spend a budget: people with an outcome, predictions (for them and for others), and the interval's half width.

    alone: the half width if the whole budget is spent on people.
    """

    people: int
    predictions: int
    reach: float
    alone: float


SPLITS = 100_000
"""Numbers of people that are compared: all of them, up to so many."""


def plan_purchase(sample: Sample, r: float, budget: float, person: float, prediction: float) -> Purchase:
    """Return the numbers of people and predictions, over all conditions, with the narrowest interval for a budget.

    person, prediction: the price of an outcome and of a prediction. The variance is (1 - r²) / n + r² / N for n people and
    N > n predictions. By Student's t; half widths are NaN if the budget does not pay for `FEWEST` people in each condition.
    """
    arms, most = len(sample.arms), int(_whole(budget / person))
    least = FEWEST * arms
    spread = arms * sum(float(arm.outcome.var(ddof=1)) for arm in sample.arms)
    if most < least:
        return Purchase(most, 0, math.nan, math.nan)
    people = np.unique(np.rint(np.linspace(least, float(most), min(most - least + 1, SPLITS))))
    predictions = _whole((budget - person * people) / prediction)
    shares = (1 - r * r) / people + r * r / np.maximum(predictions, 1)
    reaches = stdtrit(people - arms, (1 + LEVEL) / 2) * np.sqrt(
        spread * np.where(predictions > people, shares, 1 / people)
    )
    best, alone = int(reaches.argmin()), float(reaches[-1])
    if predictions[best] <= people[best] or reaches[best] >= alone:
        return Purchase(most, 0, alone, alone)
    return Purchase(int(people[best]), int(predictions[best]), float(reaches[best]), alone)


def _whole(number: float | Floats) -> Floats:
    """Return the whole part of a quotient of prices, which rounding must not lower: 1.2 / 0.4 is 3, not 2.9999999999999996."""
    return np.asarray(np.floor(number * (1 + 1e-12)))


def corrected_lines(people: People) -> list[str]:
    """Return the corrected correlation within conditions as a sentence; none if the file has no repeated measurement."""
    if not any(str(name).startswith(AGAIN) for name in people.table.columns):
        return []
    table = people.table[people.table[OUTCOME].notna()]
    arms = [table[table[CONDITION] == condition] for condition in people.conditions] if people.conditions else [table]
    outcome, predicted = (np.concatenate([_asks(arm, name) for arm in arms]) for name in (OUTCOME, PREDICTED))
    corrected = correct_correlation(outcome, predicted)
    return [correction_sentence("outcomes and predictions", ("outcomes", "predictions"), corrected)]


def _asks(arm: pd.DataFrame, name: str) -> Floats:
    """Return the measurements of a condition less its mean, (people, asks)."""
    again = [column for column in arm.columns if str(column).startswith(f"{AGAIN}{name}")]
    values = arm[[name, *again]].to_numpy(dtype=float)
    return np.asarray(values - pd.DataFrame(values).mean(axis=1).mean())
