"""The specification curve: the effect in each specification, and what swapped arm labels would give."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.bootstrap import LEVEL, Floats, mean_interval
from parley.analysis.claims.claim import Claim
from parley.analysis.claims.multiverse import SPECIFICATION
from parley.analysis.statistics.equivalence import p_alike

PLACE = ["topic", "people"]
"""The columns that name the same debate in several specifications."""
UNIT = "people"
"""The unit of the test: a group of people, with all its topics. Debates of the same people on two topics are not independent."""
FEWEST_UNITS = 6
"""Below it p is too coarse: of the swaps of five units 1 in 32 is the data itself, and with one more as large p is above .05."""
FEWEST_TOPICS = 5
SWAPS = 1999
ALPHA = 1 - LEVEL
MOST_MISSING = 0.2


@dataclass(frozen=True)
class Curve:
    """The effects of a claim over its specifications.

    effects: a row per specification in increasing order: specification, effect (the mean over its debates), low, high, debates,
    missing. units: a row per group of people: people, effect (the mean over its topics and specifications). p: of the median, if
    arm labels are swapped within units; in the expected direction, and in the other. p_share: the same for the share of
    specifications in the expected direction; it is large where all specifications have the same people.
    """

    effects: pd.DataFrame
    units: pd.DataFrame
    median: float
    share: float
    p: float
    p_other: float
    p_share: float
    missing: int


def draw_curve(claim: Claim, differences: pd.DataFrame, rng: np.random.Generator) -> Curve:
    """Return the curve of `Multiverse.differences`. Specifications without a number are not in it."""
    known = differences.dropna(subset="difference")
    effects = _effects(differences)
    units = known.groupby(UNIT, sort=True)["difference"].mean().rename("effect").reset_index()
    median = float(effects["effect"].median()) if len(effects) else math.nan
    share = _share(claim, effects["effect"].to_numpy(dtype=float)) if len(effects) else math.nan
    chances = _swapped(claim, known, median, share, rng) if len(units) >= FEWEST_UNITS else (math.nan,) * 3
    return Curve(effects, units, median, share, *chances, int(differences["difference"].isna().sum()))


def _share(claim: Claim, effects: Floats) -> float:
    return float(np.mean([claim.favours(effect) for effect in effects]))


def _effects(differences: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a curve. The interval is for these topics and people.

    It has the spread of debates within a specification, pooled over specifications, after the mean of the same debate in all
    specifications is subtracted.
    """
    known = differences.dropna(subset="difference")
    by = known.groupby(SPECIFICATION)["difference"]
    table = by.agg(effect="mean", debates="size").reset_index()
    missing = differences["difference"].isna().groupby(differences[SPECIFICATION]).sum()
    table["missing"] = table[SPECIFICATION].map(missing)
    left = known["difference"] - known.groupby(PLACE)["difference"].transform("mean")
    left -= left.groupby(known[SPECIFICATION]).transform("mean")
    freedom = len(known) - len(table) - known[PLACE].drop_duplicates().shape[0] + 1
    reach = np.full(len(table), math.nan)
    if freedom > 0 and (left**2).sum() > 0:
        error = math.sqrt(float((left**2).sum()) / freedom)
        reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error / np.sqrt(table["debates"].to_numpy(dtype=float))
    table["low"], table["high"] = table["effect"] - reach, table["effect"] + reach
    return table.sort_values("effect", kind="stable", ignore_index=True)


def _swapped(
    claim: Claim, known: pd.DataFrame, median: float, share: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return p of the median in the expected direction and in the other, and p of the share.

    Each swap exchanges the two arms for a random half of the units, on all topics and in all specifications at once.
    """
    by = known.groupby([SPECIFICATION, UNIT])["difference"].agg(["sum", "size"]).unstack(UNIT, fill_value=0)
    sums, sizes = by["sum"].to_numpy(dtype=float), by["size"].to_numpy(dtype=float).sum(axis=1)
    signs = rng.choice([-1.0, 1.0], (SWAPS, sums.shape[1]))
    drawn = signs @ sums.T / sizes  # a row per swap, a column per specification
    medians, side = np.median(drawn, axis=1), -1.0 if claim.expected == "less" else 1.0
    shares = (side * drawn > 0).mean(axis=1)
    tests = side * medians >= side * median - 1e-12, side * medians <= side * median + 1e-12, shares >= share - 1e-12
    first, other, at_least = ((1 + int(test.sum())) / (1 + SWAPS) for test in tests)
    return first, other, at_least


def equivalence_p(claim: Claim, curve: Curve) -> float:
    """Return the p of "the average effect is at least the bound", over units; NaN below five units."""
    values = curve.units["effect"].to_numpy(dtype=float)
    low, high = mean_interval(values)
    return p_alike(float(values.mean()), low, high, len(values) - 1, claim.smallest) if len(values) else math.nan


def topic_effects(differences: pd.DataFrame) -> pd.DataFrame:
    """Return a row per topic: topic, effect (the mean over all its differences), differences."""
    known = differences.dropna(subset="difference").groupby("topic", sort=True)["difference"]
    return known.agg(effect="mean", differences="size").reset_index()
