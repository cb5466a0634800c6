"""What members of a group think that people of their own and of another group would answer, against what these do answer.

The gap of a perceiver is the mean over questions of `perceived - actual`, in points away from the other groups: positive where a
group is seen as more extreme than it is. Out-group minus own-group gap is taken within each perceiver and question, so that
errors of the actual averages, which both sides share, cancel between groups; a question with one of the two guesses is left
out. The unit is the perceiver; below FEWEST of a group there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from parley.analysis.statistics.intervals import (
    ALIKE,
    FEWEST,
    NO_VARIATION,
    Floats,
    is_even,
    means_interval,
    nanmean,
    too_few,
)
from parley.analysis.statistics.null import share_as_large
from parley.llm.seeding import derive
from parley.studies.stereotypes.individuation import DRAWS, Measured, Sample, estimate_measure

OWN, OUT, DIFFERENCE = "own group", "out-group", "out-group minus own group"
NO_GUESS = "no guess about a group was read"


def wide(answers: pd.DataFrame, about: str = "") -> pd.DataFrame:
    """Return answers about one group ("": one's own answers): index (group, person), a column per question."""
    chosen = answers[answers["about"] == about]
    return chosen.set_index(["group", "person", "question"])["answer"].unstack("question").sort_index()


def perception_gaps(answers: pd.DataFrame, actual: pd.DataFrame) -> list[Measured]:
    """Return the gaps for the own group, the out-group and their difference: means of the groups' means, in points; null 0.

    answers: long, with about. actual: wide, the answers of the people of each group.
    """
    shifts = {target: _shift(wide(answers, target), actual, target) for target in _targets(answers, actual)}
    if not shifts:
        return [Measured(name, null=0.0, reason=NO_GUESS) for name in (OWN, OUT, DIFFERENCE)]
    table = pd.concat(shifts, names=["target"]).reorder_levels(["group", "person", "target"])
    mine = table.index.get_level_values("group") == table.index.get_level_values("target")
    people = table.index.droplevel("target").unique()
    own_group, out = table[mine].droplevel("target").reindex(people), _mean_of_targets(table[~mine]).reindex(people)
    return [
        _mean(name, values.mean(axis=1))
        for name, values in ((OWN, own_group), (OUT, out), (DIFFERENCE, out - own_group))
    ]


def count_unpaired(answers: pd.DataFrame) -> tuple[int, int]:
    """Return on how many questions a person guessed about some groups but not about all of them, and on how many about any."""
    guesses = answers[(answers["about"] != "") & answers["answer"].notna()]
    groups = guesses.groupby(["group", "person", "question"])["about"].nunique()
    return int((groups < guesses["about"].nunique()).sum()), len(groups)


def perception_distances(answers: pd.DataFrame, actual: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return a row per target and side (own group, out-group): Cohen's d with its interval, and Wasserstein's distance in points.

    d: positive where the target is seen as more extreme. null_w: the mean distance when guesses and answers are shuffled among
    perceivers and members of the target; p: the share of such deals that is at least as far. Both are means over questions.
    """
    rows = []
    for target in _targets(answers, actual):
        frame = wide(answers, target).reindex(columns=actual.columns)
        inside = frame.index.get_level_values(0) == target
        truth, signs = actual.loc[[target]].to_numpy(dtype=float), _signs(actual, target)
        for side, side_answers in ((OWN, frame[inside]), (OUT, frame[~inside])):
            rows.append(
                {"target": target, "seen by": side, **_distances(side_answers, truth, signs, seed, (target, side))}
            )
    return pd.DataFrame(rows)


def _targets(answers: pd.DataFrame, actual: pd.DataFrame) -> list[str]:
    rated_groups = set(actual.index.get_level_values(0))
    return [name for name in dict.fromkeys(answers["about"]) if name in rated_groups]


def _signs(actual: pd.DataFrame, target: str) -> Floats:
    """Return on which side of the other groups a group is, by question."""
    means = actual.groupby(level=0).mean()
    signs: Floats = np.sign(means.loc[target] - means.drop(index=target).mean()).to_numpy(dtype=float)
    return signs


def _shift(frame: pd.DataFrame, actual: pd.DataFrame, target: str) -> pd.DataFrame:
    """Return the gap of each perceiver and question; NaN without a guess."""
    truth = actual.groupby(level=0).mean().loc[target]
    return (frame.reindex(columns=actual.columns) - truth) * _signs(actual, target)


def _mean_of_targets(shifts: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gap over targets by perceiver and question; NaN if the guess about one of them is missing."""
    targets = shifts.groupby(level=["group", "person"])
    return targets.mean().where(targets.count().eq(targets.size(), axis=0))


def _mean(name: str, values: pd.Series) -> Measured:
    groups = [group.dropna().to_numpy(dtype=float) for _, group in values.groupby(level=0)]
    size = sum(map(len, groups))
    if not size or not all(map(len, groups)):
        return Measured(name, people=size, null=0.0, reason=too_few("person") if size else NO_GUESS)
    value = float(np.mean([group.mean() for group in groups]))
    if min(map(len, groups)) < FEWEST or all(map(is_even, groups)):
        reason = too_few("person") if min(map(len, groups)) < FEWEST else NO_VARIATION
        return Measured(name, value, people=size, null=0.0, reason=reason)
    return Measured(name, value, *means_interval(groups), size, 0.0)


def _distances(
    answers: pd.DataFrame, truth: Floats, signs: Floats, seed: int, key: tuple[str, str]
) -> dict[str, object]:
    seen = Sample(answers.to_numpy(dtype=float), np.zeros(len(answers)))
    parts = [seen, Sample(truth, np.zeros(len(truth)))]
    effect = estimate_measure("d", parts, lambda both: _cohen(both, signs), 0.0)
    effect_row = {
        "people": len(answers),
        "d": effect.value,
        "low": effect.low,
        "high": effect.high,
        "reason": effect.reason,
    }
    value = _wasserstein(seen.values, truth)
    if np.isnan(value):
        return {**effect_row, "w": math.nan, "null_w": math.nan, "p": math.nan}
    rng = np.random.default_rng(derive(seed, "perception", *key))
    drawn = [_wasserstein(*_dealt(seen.values, truth, rng)) for _ in range(DRAWS)]
    p = share_as_large(drawn, value)
    return {**effect_row, "w": value, "null_w": float(np.mean(drawn)), "p": p}


def _cohen(both: Sequence[Sample], signs: Floats) -> float:
    """Return the mean over questions of the signed difference by the pooled standard deviation."""
    (first, _), (second, _) = (sample.variances() for sample in both)
    pooled = np.sqrt((first[0] + second[0]) / 2)
    varies = pooled > ALIKE
    shift = signs * (nanmean(both[0].values) - nanmean(both[1].values))
    return float(np.mean(shift[varies] / pooled[varies])) if varies.any() else math.nan


def _dealt(answers: Floats, truth: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return both samples with their rows shuffled.

    Each place keeps its gaps; a gap dealt to another place is filled with a known answer to the question.
    """
    both = np.vstack([answers, truth])
    dealt = rng.permutation(both)
    for old, new in zip(both.T, dealt.T, strict=True):
        was_rated = np.isfinite(old)
        lacks = was_rated & np.isnan(new)
        new[lacks] = rng.choice(old[was_rated], lacks.sum(), replace=False)
        new[~was_rated] = np.nan
    return dealt[: len(answers)], dealt[len(answers) :]


def _wasserstein(left: Floats, right: Floats) -> float:
    pairs = [(left[:, place], right[:, place]) for place in range(left.shape[1])]
    readable_pairs = [(a[np.isfinite(a)], b[np.isfinite(b)]) for a, b in pairs]
    values = [float(wasserstein_distance(a, b)) for a, b in readable_pairs if len(a) and len(b)]
    return float(np.mean(values)) if values else math.nan
