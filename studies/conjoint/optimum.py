"""The best distribution over profiles, against drawn profiles and against an opponent who answers as well as it can.

A side that cannot fix each attribute chooses a distribution over the levels of each group of attributes, independent
between groups (a stochastic intervention). In the model a profile a is chosen against b with .5 + the sum over groups of
M[a, b], where M[a, b] = -M[b, a]: a worth of each level, and what a level wins against another one besides.

    drawn opponent     maximise p'M q - penalty |p - q|^2, where q is the distribution of the design; the closed form is
                       q + M q / (2 penalty), projected onto distributions
    opponent adapts    the p that loses least against its best answer: the equilibrium of a game of two, a linear program

The penalty is the one that does best over folds of the respondents who choose the distribution. Other respondents judge
it: weights of pairs make drawn profiles those of the two sides. On the same answers chosen levels would look too good.
Sources: Jerzak, Chandra and Hazra 2025 (arXiv 2504.19043; abstract): optimal and adversarial stochastic interventions with an L2
penalty; Morris 1983 for the shrinkage. Departures in README.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from parley.analysis.statistics.intervals import FEWEST, SHARE, Floats, mean_interval

from .design import ConjointDesign

EVEN = 0.5
PENALTIES = (10.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.0)
"""From the distribution of the design to a single profile."""
FOLDS = 5
MOST = 300
"""Combinations of a group of linked attributes, of which each pair has a payoff."""
Strategy = tuple[Floats, ...]
"""For each group of attributes the probability of each combination of levels."""


@dataclass(frozen=True)
class Pairs:
    """Answered pairs, each in both directions.

    first, second: the combination of each group in the two profiles, (rows, groups). gain: how often the first is
    chosen, minus .5. people: the number of the respondent. sizes: combinations of each group.
    """

    first: np.ndarray
    second: np.ndarray
    gain: Floats
    people: np.ndarray
    sizes: tuple[int, ...]

    def of(self, people: np.ndarray) -> Pairs:
        """Return the pairs of some respondents."""
        rows = np.isin(self.people, people)
        return Pairs(self.first[rows], self.second[rows], self.gain[rows], self.people[rows], self.sizes)

    @property
    def drawn(self) -> Strategy:
        """The distribution of the design: every combination that exists has the same chance."""
        return tuple([np.full(size, 1 / size) for size in self.sizes])


def pairs_of(choices: pd.DataFrame, design: ConjointDesign) -> Pairs:
    """Return the pairs of choices. choices: as for `estimate_effects`; pairs without an answer are left out."""
    answered = choices.dropna(subset=["chosen"])
    keys, codes = ["respondent", "task"], answered["respondent"].factorize()[0]
    places = {
        number: answered[list(names)].apply(tuple, axis=1).map({cell: place for place, cell in enumerate(cells)})
        for number, (names, cells) in enumerate(design.combinations.items())
    }
    rows = answered[keys].assign(code=codes, profile=answered["profile"], gain=answered["chosen"] - EVEN, **{
        f"group {number}": column for number, column in places.items()})  # fmt: skip
    both = rows.merge(rows, on=keys, suffixes=("", " other"))
    both = both[both["profile"] != both["profile other"]]
    names = [f"group {number}" for number in places]
    first, second = (both[[f"{name}{end}" for name in names]].to_numpy(dtype=int) for end in ("", " other"))
    sizes = tuple([len(cells) for cells in design.combinations.values()])
    return Pairs(first, second, both["gain"].to_numpy(dtype=float), both["code"].to_numpy(dtype=int), sizes)


def payoffs(pairs: Pairs) -> tuple[Floats, ...]:
    """Return M of each group: how much more often than .5 a combination (row) is chosen against another one (column).

    The worth of combinations is that of their means; what is beyond it is shrunk to 0 as far as noise explains it.
    """
    return tuple([_payoff(pairs, group, size) for group, size in enumerate(pairs.sizes)])


def _payoff(pairs: Pairs, group: int, size: int) -> Floats:
    cells = pairs.first[:, group] * size + pairs.second[:, group]
    counts = np.bincount(cells, minlength=size * size).reshape(size, size).astype(float)
    sums = np.bincount(cells, pairs.gain, size * size).reshape(size, size)
    rows = counts.sum(axis=1)
    worth = np.divide(sums.sum(axis=1), rows, out=np.zeros(size), where=rows > 0)
    additive = worth[:, None] - worth[None, :]
    means = np.divide(sums, counts, out=additive.copy(), where=counts > 0)
    rest = means - additive
    rest = (rest - rest.T) / 2
    noise = np.divide(pairs.gain.var(), counts, out=np.zeros_like(counts), where=counts > 0)
    upper = np.triu_indices(size, 1)
    seen = float((rest[upper] ** 2).sum())
    kept = max(0.0, 1 - float(noise[upper].sum()) / seen) if seen > 0 else 0.0
    return np.asarray(additive + kept * rest)


def project(point: Floats) -> Floats:
    """Return the nearest distribution (Held, Wolfe and Crowder 1974).

    >>> project(np.array([0.6, 0.6])).tolist(), project(np.array([1.5, 0.0, 0.2])).tolist()
    ([0.5, 0.5], [1.0, 0.0, 0.0])
    """
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(point) + 1)
    last = int(np.nonzero(ordered > excess)[0][-1])
    nearest: Floats = np.maximum(point - excess[last], 0.0)
    return nearest


def best_answer(payoff: Floats, other: Floats, drawn: Floats, penalty: float) -> Floats:
    """Return the distribution with the largest p'M other - penalty |p - drawn|^2 (of equal combinations, the first)."""
    values = payoff @ other
    if penalty == 0:
        return np.asarray(np.eye(len(values))[int(np.argmax(values))])
    return project(drawn + values / (2 * penalty))


def equilibrium(payoff: Floats) -> Floats:
    """Return the distribution that loses least against its best answer, by a linear program.

    payoff: antisymmetric, so that two sides that play the distribution are even.

    >>> equilibrium(np.array([[0.0, 0.1, -0.2], [-0.1, 0.0, 0.3], [0.2, -0.3, 0.0]])).round(3).tolist()
    [0.5, 0.333, 0.167]
    """
    size = len(payoff)
    least = np.column_stack([-payoff.T, np.ones(size)])  # value - p'M[:, j] <= 0 for each j
    goal, total = np.append(np.zeros(size), -1.0), np.append(np.ones(size), 0.0)[None]
    solved = linprog(goal, least, np.zeros(size), total, [1.0], [(0, None)] * size + [(None, None)])
    return np.asarray(solved.x[:size])


def judged(pairs: Pairs, side: Strategy, other: Strategy) -> Floats:
    """Return for each respondent how often the profiles of a side are chosen against those of the other, minus .5, estimated.

    Pairs are weighed as the two distributions have them more often than the design. Mean over respondents: unbiased.
    """
    weight = np.zeros(len(pairs.gain))
    for group, (mine, theirs, drawn) in enumerate(zip(side, other, pairs.drawn, strict=True)):
        first, second = pairs.first[:, group], pairs.second[:, group]
        weight += mine[first] * theirs[second] / (drawn[first] * drawn[second]) - 1
    counts = np.bincount(pairs.people)
    return np.asarray(np.bincount(pairs.people, pairs.gain * weight)[counts > 0] / counts[counts > 0])


class Contest(NamedTuple):
    """Distributions chosen on half of the respondents, and how the other half judges them: values by respondent, minus .5.

    average: the best against drawn profiles; single: the best profile; stable: the equilibrium. Each of the last two meets
    its own best answer. No values below 2 x FEWEST respondents.
    """

    average: Strategy
    single: Strategy
    stable: Strategy
    penalty: float
    values: Mapping[str, Floats]


AVERAGE, SINGLE, STABLE, GAIN = (
    "best distribution",
    "best profile",
    "hardest to beat",
    "hardest to beat minus best profile",
)
AGAINST = {AVERAGE: "drawn profiles", SINGLE: "its best answer", STABLE: "its best answer", GAIN: ""}


def play(choices: pd.DataFrame, design: ConjointDesign, rng: np.random.Generator) -> Contest | None:
    """Return the contest; None where no pair has an answer. rng: halves the respondents."""
    pairs = pairs_of(choices, design)
    people = np.unique(pairs.people)
    if not len(people):
        return None
    mixed = rng.permutation(people)
    enough = len(people) >= 2 * FEWEST
    choosing = pairs.of(mixed[: len(mixed) // 2]) if enough else pairs
    penalty = _penalty(choosing)
    average, single, stable = _strategies(choosing, penalty)
    if not enough:
        return Contest(average, single, stable, penalty, {})
    judging, learned, drawn = pairs.of(mixed[len(mixed) // 2 :]), payoffs(choosing), pairs.drawn
    values = {AVERAGE: judged(judging, average, drawn)}
    for name, side in ((SINGLE, single), (STABLE, stable)):
        values[name] = judged(judging, side, _answers(learned, drawn, 0, side))
    values[GAIN] = values[STABLE] - values[SINGLE]
    return Contest(average, single, stable, penalty, values)


def _strategies(pairs: Pairs, penalty: float) -> tuple[Strategy, Strategy, Strategy]:
    """Return the best distribution, the best profile and the equilibrium that these choices show."""
    learned, drawn = payoffs(pairs), pairs.drawn
    return _answers(learned, drawn, penalty), _answers(learned, drawn, 0), tuple(map(equilibrium, learned))


def _penalty(pairs: Pairs) -> float:
    """Return the penalty whose distributions do best on other respondents, over folds; of equals the largest."""
    people = np.unique(pairs.people)
    folds: Sequence[np.ndarray] = np.array_split(people, min(FOLDS, len(people)))
    if len(folds) < 2:
        return PENALTIES[0]
    fitted = [(payoffs(pairs.of(np.setdiff1d(people, fold))), pairs.of(fold)) for fold in folds]
    means = [
        np.concatenate(
            [judged(held, _answers(learned, held.drawn, penalty), held.drawn) for learned, held in fitted]
        ).mean()
        for penalty in PENALTIES
    ]
    return PENALTIES[int(np.argmax(means))]


def _answers(learned: Sequence[Floats], drawn: Strategy, penalty: float, other: Strategy = ()) -> Strategy:
    """Return the best answer of each group to another side (default: drawn profiles)."""
    groups = zip(learned, other or drawn, drawn, strict=True)
    return tuple([best_answer(payoff, theirs, even, penalty) for payoff, theirs, even in groups])


def contest_table(contest: Contest) -> pd.DataFrame:
    """Return a row per distribution: side, against, respondents, share with its ends (in the last row: a difference)."""
    rows = []
    for side, values in contest.values.items():
        shift, bounds = (0.0, None) if side == GAIN else (EVEN, SHARE)
        low, high = mean_interval(values + shift, bounds=bounds)
        rows.append({
            "side": side, "against": AGAINST[side], "respondents": len(values), "share": float(values.mean()) + shift,
            "share_low": low, "share_high": high,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["side", "against", "respondents", "share", "share_low", "share_high"])


def strategy_table(contest: Contest, design: ConjointDesign) -> pd.DataFrame:
    """Return one row per combination of levels: attributes, levels, and its probability under the three distributions."""
    rows = []
    for group, (names, cells) in enumerate(design.combinations.items()):
        for place, cell in enumerate(cells):
            shares = [float(side[group][place]) for side in (contest.average, contest.single, contest.stable)]
            rows.append((", ".join(names), ", ".join(cell), *shares))
    return pd.DataFrame(rows, columns=["attributes", "levels", "average", "single", "stable"])
