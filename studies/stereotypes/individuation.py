"""Whether personas are individuals or stereotypes of their group: measures over personas, compared with surveyed people.

Answers are a frame of one row per person: index (group, person), one column per question, values from 0 to 10, NaN for a missing
answer. The unit is the person. Intervals leave out one person at a time within its group (the stratified jackknife, Student's t);
below `FEWEST` people in a group there is none. Nulls permute groups (share of groups) or the personas of a group (individuation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.statistics.intervals import ALIKE, FEWEST, LEVEL, NO_VARIATION, Floats, nanmean, too_few
from parley.analysis.statistics.null import share_as_large
from parley.llm.seeding import derive

DRAWS = 999
CLEAR = 4.0
"""People's groups must differ by this many times what sampling alone gives (sums of squares), or the slope is unknown."""
NO_DIFFERENCE = "people's groups do not differ clearly"
ONE_GROUP = "all answers are of one group"
NO_MATCH = "no person of the survey has the name and group of a persona"


class Measured(NamedTuple):
    """A measure with its 95% interval. `null`: its value without an effect. `p`: by permutation. `reason`: why it is unknown."""

    measure: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    people: int = 0
    null: float = math.nan
    p: float = math.nan
    reason: str = ""


class Sample(NamedTuple):
    """People as arrays: values (n, questions), group (n,) as codes from 0."""

    values: Floats
    group: Floats

    def without(self, person: int) -> Sample:
        return Sample(np.delete(self.values, person, axis=0), np.delete(self.group, person))

    def sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Sums and numbers of known values by group and question."""
        member = (self.group == np.arange(np.max(self.group) + 1)[:, None]).astype(float)
        is_known = np.isfinite(values)
        return member @ np.where(is_known, values, 0.0), member @ is_known.astype(float)

    def means(self) -> Floats:
        """Means by group and question."""
        total, count = self.sums(self.values)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def residuals(self) -> Floats:
        """Answers less the mean of their group and question."""
        group: Floats = self.means()[self.group.astype(int)]
        return self.values - group

    def variances(self) -> tuple[Floats, Floats]:
        """Variances by group and question, and the number of answers of each; NaN below two answers."""
        squares, count = self.sums(self.residuals() ** 2)
        return np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan), count


Statistic = Callable[[Sequence[Sample]], float]


def individuation(personas: pd.DataFrame, people: pd.DataFrame | None = None, seed: int = 0) -> list[Measured]:
    """Return all measures of a set of personas; those that need people's answers only where `people` are given."""
    measures = [group_share(personas, "share of groups, personas", seed)]
    if people is not None:
        measures += [group_share(people, "share of groups, people", seed), slope(personas, people)]
        measures += [spread(personas, people), likeness(personas, people, seed)]
    return measures


def group_share(answers: pd.DataFrame, name: str, seed: int = 0) -> Measured:
    """Return the share of the variance of answers that lies between groups, corrected for chance (epsilon squared): 0 where
    groups do not differ, 1 where all of a group answer alike. Null: groups permuted. Source: Kelley 1935, PNAS 21(9).
    """
    (sample,) = samples(answers)
    if not sample.group.any():
        return Measured(name, people=len(answers), reason=ONE_GROUP)
    rng = np.random.default_rng(derive(seed, "groups", name))
    shuffled = [_share([sample._replace(group=rng.permutation(sample.group))]) for _ in range(DRAWS)]
    return estimate_measure(name, [sample], _share, null=float(np.mean(shuffled)), draws=shuffled)


def slope(personas: pd.DataFrame, people: pd.DataFrame) -> Measured:
    """Return the slope of the personas' group means on the people's: 1 as people, 2 where groups are twice as far apart, 0
    without any difference. Means are centred per question; the people's sampling error is taken out of the denominator.
    """
    both = samples(*common(personas, people))
    centred, error = _between(_matched(both)[1])
    if not centred > CLEAR * error:
        return Measured("slope on groups (people: 1)", people=len(personas), null=1.0, reason=NO_DIFFERENCE)
    return estimate_measure("slope on groups (people: 1)", both, _slope, null=1.0)


def spread(personas: pd.DataFrame, people: pd.DataFrame) -> Measured:
    """Return the standard deviation within groups of personas as a share of people's (1: as different as people)."""
    both = samples(*common(personas, people))
    return estimate_measure("spread within groups (people: 1)", both, _spread, null=1.0)


def spread_change(after: pd.DataFrame, before: pd.DataFrame) -> Measured:
    """Return the standard deviation within groups of the same personas after something, as a share of that before; null 1."""
    both = samples(after, before.loc[after.index, after.columns])
    return estimate_measure("spread within groups (without an interview: 1)", both, _spread, null=1.0, paired=True)


def likeness(personas: pd.DataFrame, people: pd.DataFrame, seed: int = 0) -> Measured:
    """Return the correlation of personas' answers with those of their own person, after means of group and question are removed.

    Null: personas permuted within their group. Persons are matched by group and name.
    """
    name, (left, right) = "individuation: r with the own person", common(personas, people)
    shared = left.index.intersection(right.index)
    if len(shared) == 0:
        return Measured(name, null=0.0, reason=NO_MATCH)
    pair = samples(left.loc[shared], right.loc[shared])
    rng = np.random.default_rng(derive(seed, "individuation"))
    draws = [_likeness([_permuted(pair[0], rng), pair[1]]) for _ in range(DRAWS)]
    return estimate_measure(name, pair, _likeness, null=0.0, draws=draws, paired=True)


def common(personas: pd.DataFrame, people: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both frames with the questions and groups that both have, in one order."""
    columns = [name for name in personas.columns if name in set(people.columns)]
    groups = sorted(set(personas.index.get_level_values(0)) & set(people.index.get_level_values(0)))
    chosen = [frame.loc[frame.index.get_level_values(0).isin(groups), columns] for frame in (personas, people)]
    return chosen[0], chosen[1]


def samples(*frames: pd.DataFrame) -> list[Sample]:
    """Return frames as arrays, with the same code for the same group."""
    codes = {name: code for code, name in enumerate(sorted(set(frames[0].index.get_level_values(0))))}
    numbered = [np.array([codes[name] for name in frame.index.get_level_values(0)], dtype=float) for frame in frames]
    return [Sample(frame.to_numpy(dtype=float), group) for frame, group in zip(frames, numbered, strict=True)]


def estimate_measure(
    name: str,
    parts: Sequence[Sample],
    statistic: Statistic,
    null: float,
    draws: Sequence[float] = (),
    paired: bool = False,
) -> Measured:
    """Return a statistic with its interval. draws: its values under the null, for a p to one side (larger)."""
    size, fewest = len(parts[0].values), min((_smallest(sample) for sample in parts), default=0)
    if fewest < FEWEST:
        return Measured(
            name, statistic(parts) if fewest > 1 else math.nan, people=size, null=null, reason=too_few("person")
        )
    value = statistic(parts)
    error, freedom = _jackknife(parts, statistic, paired)
    if not np.isfinite(value) or not error > ALIKE:
        return Measured(name, value, people=size, null=null, reason=NO_VARIATION)
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    p = share_as_large(draws, value) if len(draws) else math.nan
    return Measured(name, value, value - reach, value + reach, size, null, p)


def _smallest(sample: Sample) -> int:
    answered = np.isfinite(sample.values).any(axis=1)
    return (
        int(np.min(np.bincount(sample.group[answered].astype(int), minlength=int(np.max(sample.group)) + 1)))
        if answered.any()
        else 0
    )


def _jackknife(parts: Sequence[Sample], statistic: Statistic, paired: bool) -> tuple[float, int]:
    """Return the standard error and its degrees of freedom. paired: the same people in the same order in all parts."""
    variance, freedom = 0.0, 10**9
    for number in range(1 if paired else len(parts)):
        sample = parts[number]
        left = np.array(
            [
                statistic([other.without(person) if paired or other is sample else other for other in parts])
                for person in range(len(sample.values))
            ]
        )
        for code in np.unique(sample.group):
            group_left = left[sample.group == code]
            variance += (len(group_left) - 1) / len(group_left) * float(((group_left - group_left.mean()) ** 2).sum())
        freedom = min(freedom, len(sample.values) - len(np.unique(sample.group)))
    return math.sqrt(variance), freedom


def _share(parts: Sequence[Sample]) -> float:
    values, groups = parts[0].values, len(np.unique(parts[0].group))
    counts = np.isfinite(values).sum(axis=0)
    within = np.nansum(parts[0].residuals() ** 2, axis=0)
    total = np.nansum((values - nanmean(values)) ** 2, axis=0)
    used = counts > groups
    error = (within[used] / (counts[used] - groups)).sum()
    whole = (total[used] / (counts[used] - 1)).sum()
    return float(1 - error / whole) if whole > ALIKE else math.nan


def _between(people: Sample) -> tuple[float, float]:
    """Return the sum of squares between people's groups, and what sampling alone gives."""
    means, (variance, count) = people.means(), people.variances()
    groups = np.isfinite(means).sum(axis=0)
    centred = float(np.nansum((means - nanmean(means)) ** 2))
    return centred, float(np.nansum(variance / np.maximum(count, 1) * (1 - 1 / np.maximum(groups, 1))))


def _matched(parts: Sequence[Sample]) -> list[Sample]:
    """Return the answers to questions that the group answered in all parts; the others become missing."""
    shared = np.asarray(np.isfinite(np.stack([sample.means() for sample in parts])).all(axis=0))
    return [
        sample._replace(values=np.where(shared[sample.group.astype(int)], sample.values, np.nan)) for sample in parts
    ]


def _slope(parts: Sequence[Sample]) -> float:
    matched = _matched(parts)
    left, right = (sample.means() for sample in matched)
    product = float(np.nansum((left - nanmean(left)) * (right - nanmean(right))))
    centred, error = _between(matched[1])
    return product / (centred - error) if centred > error else math.nan


def _spread(parts: Sequence[Sample]) -> float:
    own_variances, others = (sample.variances()[0] for sample in parts)
    in_both = np.isfinite(own_variances) & np.isfinite(others)
    squares = float(others[in_both].sum())
    return math.sqrt(float(own_variances[in_both].sum()) / squares) if squares > ALIKE else math.nan


def _likeness(parts: Sequence[Sample]) -> float:
    in_both = np.isfinite(parts[0].values) & np.isfinite(parts[1].values)
    left, right = (Sample(np.where(in_both, sample.values, np.nan), sample.group).residuals() for sample in parts)
    squares = float(np.nansum(left**2)) * float(np.nansum(right**2))
    return float(np.nansum(left * right)) / math.sqrt(squares) if squares > ALIKE else math.nan


def _permuted(sample: Sample, rng: np.random.Generator) -> Sample:
    values = sample.values.copy()
    for code in np.unique(sample.group):
        members = np.flatnonzero(sample.group == code)
        values[members] = sample.values[rng.permutation(members)]
    return Sample(values, sample.group)
