"""The specification curve: the effect in each specification, and what swapped arm labels would give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.statistics.intervals import LEVEL, Floats, mean_interval
from parley.analysis.statistics.power import p_alike
from parley.studies.claims.claim import Claim
from parley.studies.claims.multiverse import SPECIFICATION
from parley.studies.claims.people import separate_groups

PLACE = ["topic", "people"]
"""The columns that name the same debate in several specifications."""
UNIT = "unit"
"""The unit of the test: a group of people, with all its topics. Debates of the same people on two topics are not independent."""
FEWEST_UNITS = 6
"""Below it p is too coarse: of the swaps of five units 1 in 32 is the data itself, and with one more as large p is above .05."""
FEWEST_TOPICS = 5
SWAPS, EXACT = 1999, 10
"""Swaps that are drawn, and the most units with which all swaps are tried."""
ALPHA = 1 - LEVEL
MOST_MISSING, FEWEST_KNOWN = 0.2, 0.5
"""The largest share of all differences that may be missing; the smallest share of a specification that must be known."""


@dataclass(frozen=True)
class Curve:
    """The effects of a claim over its specifications.

    effects: a row per specification in increasing order: specification, effect (the mean over its debates), low, high, debates,
    missing. units: a row per separate group of people (`separate_groups`): unit, effect (the mean over its topics and
    specifications). p: of the median, if
    arm labels are swapped within units; in the expected direction, and in the other.
    """

    effects: pd.DataFrame
    units: pd.DataFrame
    median: float
    share: float
    p: float
    p_other: float
    missing: int
    measured: int


def draw_curve(claim: Claim, differences: pd.DataFrame, rng: np.random.Generator) -> Curve:
    """Return the curve of `Multiverse.differences`, of `whole_specifications`. missing: counts all of them."""
    lost = int(differences["difference"].isna().sum())
    measured = int(differences["difference"].notna().sum())
    differences = whole_specifications(differences)
    groups = separate_groups(differences["people"])
    differences = differences.assign(**{UNIT: differences["people"].map(groups)})
    paired_rooms = differences.dropna(subset="difference")
    effects = _effects(differences)
    units = paired_rooms.groupby(UNIT, sort=True)["difference"].mean().rename("effect").reset_index()
    median = float(effects["effect"].median()) if len(effects) else math.nan
    share = _share(claim, effects["effect"].to_numpy(dtype=float)) if len(effects) else math.nan
    chances = _swapped(claim, paired_rooms, median, rng) if len(units) >= FEWEST_UNITS else (math.nan,) * 2
    return Curve(effects, units, median, share, *chances, lost, measured)


def whole_specifications(differences: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of specifications of which at least half are known: the mean of fewer is of other debates."""
    known_share = differences["difference"].notna().groupby(differences[SPECIFICATION]).transform("mean")
    return differences[known_share >= FEWEST_KNOWN]


def _share(claim: Claim, effects: Floats) -> float:
    return float(np.mean([claim.favours(effect) for effect in effects]))


def _effects(differences: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a curve. The interval is for these topics and people.

    It has the spread of debates within a specification, pooled over specifications, after the mean of the same debate in all
    specifications is subtracted.
    """
    measured = differences.dropna(subset="difference")
    by = measured.groupby(SPECIFICATION)["difference"]
    table = by.agg(effect="mean", debates="size").reset_index()
    missing = differences["difference"].isna().groupby(differences[SPECIFICATION]).sum()
    table["missing"] = table[SPECIFICATION].map(missing)
    left = measured["difference"] - measured.groupby(PLACE)["difference"].transform("mean")
    left -= left.groupby(measured[SPECIFICATION]).transform("mean")
    freedom = len(measured) - len(table) - measured[PLACE].drop_duplicates().shape[0] + 1
    reach = np.full(len(table), math.nan)
    if freedom > 0 and (left**2).sum() > 0:
        error = math.sqrt(float((left**2).sum()) / freedom)
        reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error / np.sqrt(table["debates"].to_numpy(dtype=float))
    table["low"], table["high"] = table["effect"] - reach, table["effect"] + reach
    return table.sort_values("effect", kind="stable", ignore_index=True)


def _swapped(claim: Claim, measured: pd.DataFrame, median: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return p of the median in the expected direction and in the other.

    Each swap exchanges the two arms for some of the units, on all topics and in all specifications at once. Up to `EXACT` units
    all swaps are tried, which gives exact p; with more units they are drawn.
    """
    by = measured.groupby([SPECIFICATION, UNIT])["difference"].agg(["sum", "size"]).unstack(UNIT, fill_value=0)
    sums, sizes = by["sum"].to_numpy(dtype=float), by["size"].to_numpy(dtype=float).sum(axis=1)
    exact = sums.shape[1] <= EXACT
    signs = all_swaps(sums.shape[1]) if exact else rng.choice([-1.0, 1.0], (SWAPS, sums.shape[1]))
    drawn = signs @ sums.T / sizes  # a row per swap, a column per specification
    medians, side = np.median(drawn, axis=1), -1.0 if claim.expected == "less" else 1.0
    tests = side * medians >= side * median - 1e-12, side * medians <= side * median + 1e-12
    observed = 0 if exact else 1  # the data themselves are one of all swaps
    first, other = ((observed + int(test.sum())) / (observed + len(signs)) for test in tests)
    return first, other


def all_swaps(units: int) -> Floats:
    """Return a row per way to swap the arms of some units: 1 and -1 for each of them.

    >>> all_swaps(2).tolist()
    [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    """
    return np.array(list(product([1.0, -1.0], repeat=units)))


def start_gap(differences: pd.DataFrame) -> tuple[float, float]:
    """Return the 95% interval, over separate groups of people, of how far differences moved since the first survey."""
    used = whole_specifications(differences)
    moved = used["difference"] - (used["start_first"] - used["start_second"])
    return mean_interval(
        moved.groupby(used["people"].map(separate_groups(used["people"]))).mean().dropna().to_numpy(dtype=float)
    )


def equivalence_p(claim: Claim, curve: Curve) -> float:
    """Return the p of "the average effect is at least the bound", over units; NaN below five units."""
    values = curve.units["effect"].to_numpy(dtype=float)
    low, high = mean_interval(values)
    return p_alike(float(values.mean()), low, high, len(values) - 1, claim.smallest) if len(values) else math.nan


def topic_effects(differences: pd.DataFrame) -> pd.DataFrame:
    """Return a row per topic: topic, effect (the mean over all its differences), differences."""
    measured = differences.dropna(subset="difference").groupby("topic", sort=True)["difference"]
    return measured.agg(effect="mean", differences="size").reset_index()
