"""The profile that is chosen most often, and how often: picked on half of the respondents and judged on the other half.

Levels that are picked and judged on the same choices look better than they are. Several folds do not help: where levels are
nearly equal, folds depend on each other, and an interval over all respondents contained the truth in 82% instead of 95%
(docs/log.md). Choices are taken as additive over groups of attributes that forbidden combinations do not link. Source of the
subject: optimal candidate profiles in conjoint analysis (JerzakLabs 2025); departures: docs/conjoint.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.conjoint_design import ConjointDesign
from parley.analysis.bootstrap import FEWEST, SHARE, mean_interval
from parley.analysis.conjoint.effects import known_choices

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
    known = known_choices(choices)
    levels, people = best_levels(known, design), known["respondent"].unique()
    if len(people) < 2 * FEWEST:
        return BestProfile(levels, {}, math.nan, math.nan, math.nan)
    first = known["respondent"].isin(people[rng.permutation(len(people))[: len(people) // 2]])
    picked = best_levels(known[first], design)
    values = _scores(known[~first], design, picked).to_numpy(dtype=float)
    return BestProfile(levels, picked, float(values.mean()), *mean_interval(values, bounds=SHARE))


def best_levels(known: pd.DataFrame, design: ConjointDesign) -> dict[str, str]:
    """Return the combination with the highest mean choice in each group of attributes (of equals, the first in the design)."""
    best: dict[str, str] = {}
    for names in design.components:
        means = known.groupby(list(names))["chosen"].mean()
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
