"""Effects of levels on choices: AMCEs, marginal means, the null of exchanged choices, and the best profile.

The average marginal component effect (AMCE) of a level is by how much more often a profile is chosen with this level than with
the baseline of its attribute, averaged over the other attributes. It is estimated by least squares. Attributes that forbidden
combinations link enter with all their combinations, and levels are compared only where both exist. Errors leave out one
respondent at a time (CR3), with a degree of freedom less than effective respondents (analysis/statistics/clusters.py).
The best profile is picked on half of the respondents and judged on the other half: levels that are picked and judged on the same
choices look better than they are. Several folds do not help: where levels are nearly equal, folds depend on each other, and an
interval over all respondents contained the truth in 82% instead of 95% (tools/log). Choices are taken as additive over groups
of attributes that forbidden combinations do not link.
Sources: Hainmueller, Hopkins and Yamamoto 2014, Political Analysis 22(1); Leeper, Hobolt and Tilley 2020 (means); optimal
candidate profiles (JerzakLabs 2025), with departures in README.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.statistics.clusters import effective_clusters, error_of, steps_without
from parley.analysis.statistics.intervals import (
    FEWEST,
    LEVEL,
    SHARE,
    Floats,
    is_few,
    mean_interval,
    reach_of_mean,
    with_interval,
)
from parley.analysis.statistics.null import Null

from .design import ConjointDesign

EFFECTS = [
    "attribute", "level", "baseline", "profiles", "respondents", "amce", "amce_low", "amce_high", "error", "effective",
    "mean", "mean_low", "mean_high",
]  # fmt: skip
SMALLEST = 1e-9
"""A standard error below this is rounding: nothing varies."""
EXCHANGES = 999
FEWEST_EXCHANGED = 6
"""Respondents that a verdict on exchanged choices needs: of five, 2 of 32 exchanges always give as large an AMCE (p > .05)."""


class ExchangeTest(NamedTuple):
    """The largest AMCE in size, the 95th percentile of the largest under exchanged choices, and the p value (NaN: no verdict)."""

    largest: float
    bound: float
    p: float


def known_choices(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a choice."""
    return choices.dropna(subset=["chosen"]).reset_index(drop=True)


def estimate_effects(choices: pd.DataFrame, design: ConjointDesign) -> pd.DataFrame:
    """Return one row per level (EFFECTS): its AMCE (NaN for the baseline) and its marginal mean, each with its 95% interval.

    choices: one row per profile: respondent, the attributes, chosen (0 to 1; NaN: missing). There are no intervals below
    `FEWEST` effective respondents (`effective`, of an AMCE), nor where nothing varies; an AMCE also needs as many who saw its
    level, and who saw the baseline.
    """
    answered, rows = known_choices(choices), []
    for attribute, levels in design.attributes.items():
        fitted = _fit(answered, design, attribute)
        for level in levels:
            level_rows = answered[answered[attribute] == level]
            row: dict[str, Any] = {"attribute": attribute, "level": level, "baseline": level == levels[0]}
            row |= {
                "profiles": len(level_rows),
                "respondents": level_rows["respondent"].nunique(),
                **marginal_mean(level_rows),
            }
            rows.append(row | (fitted.effect(level, levels[0]) if level != levels[0] else {}))
    table = pd.DataFrame(rows, columns=EFFECTS)
    return table.astype(dict.fromkeys(EFFECTS[5:], "float64"))


class _Fit(NamedTuple):
    """A regression of the choices on the combinations of a group of attributes, and on the other attributes."""

    cells: Sequence[tuple[str, ...]]
    counts: Mapping[tuple[str, ...], int]
    place: int
    design: Floats
    choices: Floats
    respondents: Any

    def contrast(self, level: str, baseline: str) -> Floats | None:
        """Return the weights of the coefficients in the AMCE; None where no profiles can be compared."""
        weights, total = np.zeros(self.design.shape[1]), 0
        for number, cell in enumerate(self.cells):
            other = (*cell[: self.place], baseline, *cell[self.place + 1 :])
            if cell[self.place] == level and other in self.counts:
                share = self.counts[cell] + self.counts[other]
                weights[number] += share
                weights[self.cells.index(other)] -= share
                total += share
        return weights / total if total else None

    def seen_by(self, weights: Floats) -> int:
        """Return how many respondents saw the level in profiles that `contrast` compares, or the baseline if fewer saw that."""
        side = self.design @ np.sign(weights)
        return min(len(set(self.respondents[side == sign])) for sign in (1, -1))

    def effect(self, level: str, baseline: str) -> dict[str, float]:
        """Return the AMCE of a level, with error and interval."""
        if (weights := self.contrast(level, baseline)) is None:
            return {}
        seen = self.seen_by(weights)
        coefficients = np.linalg.pinv(self.design) @ self.choices
        grams, scores = _by_cluster(self.design, self.choices - self.design @ coefficients, self.respondents)
        worth = min(float(seen), effective_clusters(np.bincount(self.respondents).astype(float)))
        error = error_of(steps_without(grams, scores) @ weights) if not is_few(worth) else math.nan
        value = float(weights @ coefficients)
        return {**_with_ends("amce", value, error, worth), "error": error, "effective": worth}


def _by_cluster(design: Floats, rests: Floats, clusters: np.ndarray) -> tuple[Floats, Floats]:
    """Return X'X and X'rests of the rows of each cluster. clusters: the number of each row's, from 0."""
    rows = [clusters == code for code in range(int(clusters.max(initial=-1)) + 1)]
    grams = [design[cluster_rows].T @ design[cluster_rows] for cluster_rows in rows]
    return np.array(grams), np.array([design[cluster_rows].T @ rests[cluster_rows] for cluster_rows in rows])


def _with_ends(name: str, value: float, error: float, respondents: float) -> dict[str, float]:
    """Return a number with its 95% interval, by Student's t over so many (effective) respondents; NaN as `reach_of_mean`."""
    reach = float(reach_of_mean(np.array([error]), np.array([respondents]))[0])
    return with_interval(name, value, (value - reach, value + reach))


def _fit(answered: pd.DataFrame, design: ConjointDesign, attribute: str) -> _Fit:
    names = next(names for names in design.components if attribute in names)
    cells = list(map(tuple, answered[list(names)].to_numpy().tolist()))
    counts = pd.Series(cells, dtype=object).value_counts(sort=False).to_dict()
    ordered = list(counts)
    columns = [np.array([cell == ordered_cell for cell in cells], dtype=float) for ordered_cell in ordered]
    for other, levels in design.attributes.items():
        if other not in names:
            columns += [
                (answered[other] == level).to_numpy(dtype=float)
                for level in levels[1:]
                if (answered[other] == level).any()
            ]
    matrix = np.column_stack(columns) if columns else np.zeros((0, 0))
    codes = answered["respondent"].factorize()[0]
    return _Fit(ordered, counts, names.index(attribute), matrix, answered["chosen"].to_numpy(dtype=float), codes)


def marginal_mean(profiles: pd.DataFrame) -> dict[str, float]:
    """Return how often profiles with a level are chosen, with its interval over respondents."""
    if profiles.empty:
        return {}
    people = profiles.groupby("respondent")["chosen"].agg(["sum", "size"]).to_numpy(dtype=float)
    value, worth = float(people[:, 0].sum() / people[:, 1].sum()), effective_clusters(people[:, 1])
    rest = people.sum(axis=0) - people
    error = math.nan if is_few(worth) else error_of(rest[:, 0] / rest[:, 1])
    return _with_ends("mean", value, error, worth)


def exchange_test(choices: pd.DataFrame, design: ConjointDesign, rng: np.random.Generator) -> ExchangeTest:
    """Return whether choices depend on any attribute: the largest AMCE compared with those of exchanged choices.

    Each draw takes respondents by the toss of a coin, and gives the choices of each one taken to the other profile of each pair.
    So tastes of single respondents do not count as an effect on average. Below `FEWEST_EXCHANGED` respondents p is NaN.
    """
    answered = known_choices(choices)
    if not (weights := [row for name in design.attributes for row in _effect_weights(answered, design, name)]):
        return ExchangeTest(math.nan, math.nan, math.nan)
    codes, people = answered["respondent"].factorize()
    parts = pd.DataFrame((np.vstack(weights) * (answered["chosen"].to_numpy(dtype=float) - 0.5)).T).groupby(codes).sum()
    largest = float(np.abs(parts.sum()).max())
    if len(people) < FEWEST_EXCHANGED:
        return ExchangeTest(largest, math.nan, math.nan)
    null = np.abs(rng.choice([-1.0, 1.0], (EXCHANGES, len(people))) @ parts.to_numpy()).max(axis=1)
    return ExchangeTest(largest, float(np.quantile(null, LEVEL)), Null(null).p(largest))


def _effect_weights(answered: pd.DataFrame, design: ConjointDesign, attribute: str) -> list[Floats]:
    """Return for each level the weights of all choices in its AMCE."""
    fitted, levels = _fit(answered, design, attribute), design.attributes[attribute]
    contrasts = [fitted.contrast(level, levels[0]) for level in levels[1:]]
    inverse = np.linalg.pinv(fitted.design) if len(answered) else fitted.design
    return [np.asarray(contrast @ inverse) for contrast in contrasts if contrast is not None]


def position_bias(choices: pd.DataFrame) -> dict[str, float]:
    """Return how often a profile is chosen when it is shown as A: share (the mean over respondents), low, high, respondents.

    0.5: no bias.
    """
    placed = choices.dropna(subset=["in_a"])
    means = placed["in_a"].groupby(placed["respondent"]).mean().to_numpy(dtype=float)
    low, high = mean_interval(means, bounds=SHARE)
    share = float(means.mean()) if len(means) else math.nan
    return {"share": share, "low": low, "high": high, "respondents": len(means)}


def compare_effects(personas: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return one row per level but the baselines: attribute, level, the AMCE of personas and of people, and their difference.

    The two groups are independent. Degrees of freedom: Welch and Satterthwaite's, by the effective number of respondents.
    """
    keys = ["attribute", "level"]
    both = personas[~personas["baseline"]].merge(people, on=keys, suffixes=("", "_people"))
    difference = both["amce"] - both["amce_people"]
    squares = both[["error", "error_people"]].to_numpy(dtype=float) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = squares.sum(axis=1) ** 2 / (squares**2 / (both[["effective", "effective_people"]] - 1)).sum(axis=1)
        reach = stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(squares.sum(axis=1))
    reach = reach.where(reach > SMALLEST)
    shown = [*keys, "amce", "amce_low", "amce_high", "amce_people", "amce_people_low", "amce_people_high"]
    both = both.rename(columns={"amce_low_people": "amce_people_low", "amce_high_people": "amce_people_high"})
    return both[shown].assign(
        difference=difference, difference_low=difference - reach, difference_high=difference + reach
    )


EVEN = 0.5
"""How often a profile is chosen when attributes do not matter."""


class BestProfile(NamedTuple):
    """The best level of each attribute, and those picked by the first half (none: too few respondents).

    share: how often the picked profile is chosen against a drawn one by the other half of the respondents, with its 95% interval
    over them (NaN: unknown).
    """

    levels: dict[str, str]
    picked: dict[str, str]
    share: float
    low: float
    high: float


def best_profile(choices: pd.DataFrame, design: ConjointDesign, rng: np.random.Generator) -> BestProfile:
    """Return the best profile. choices: as for `estimate_effects`."""
    answered = known_choices(choices)
    levels, people = best_levels(answered, design), answered["respondent"].unique()
    if len(people) < 2 * FEWEST:
        return BestProfile(levels, {}, math.nan, math.nan, math.nan)
    first = answered["respondent"].isin(people[rng.permutation(len(people))[: len(people) // 2]])
    picked = best_levels(answered[first], design)
    values = _scores(answered[~first], design, picked).to_numpy(dtype=float)
    return BestProfile(levels, picked, float(values.mean()), *mean_interval(values, bounds=SHARE))


def best_levels(answered: pd.DataFrame, design: ConjointDesign) -> dict[str, str]:
    """Return the combination with the highest mean choice in each group of attributes (of equals, the first in the design)."""
    best: dict[str, str] = {}
    for names in design.components:
        means = answered.groupby(list(names))["chosen"].mean()
        values = dict(zip(means.index.to_frame().itertuples(index=False, name=None), means, strict=True))
        seen = [cell for cell in design.combinations[names] if cell in values]
        if seen:
            best |= dict(zip(names, max(seen, key=lambda cell: values[cell]), strict=True))
    return {name: best[name] for name in design.attributes if name in best}


def _scores(judged: pd.DataFrame, design: ConjointDesign, best: dict[str, str]) -> pd.Series:
    """Return one number per respondent, whose mean over respondents is how often the best profile is chosen.

    In each group of attributes, a choice counts as much as profiles with the best levels are rare, and minus 1 for all profiles.
    """
    factor = pd.Series(0.0, index=judged.index)
    for names in design.components:
        matches = _matches(judged, names, best)
        share = matches.mean()
        factor += matches / share - 1 if share > 0 else 0.0
    gain = (judged["chosen"] - EVEN) * factor
    return EVEN + gain.groupby(judged["respondent"]).mean()


def _matches(table: pd.DataFrame, names: tuple[str, ...], best: dict[str, str]) -> pd.Series:
    return pd.concat([table[name] == best.get(name) for name in names], axis=1).all(axis=1).astype(float)
