"""What one entry of the exam is: a statistic, the data it is examined on, and whether it missed the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

import numpy as np

Outcome = float | None
"""None: the statistic says that the result is unknown. Otherwise 1 where it missed the truth, and 0; of ranks and p the
number itself."""
Draw = Callable[[np.random.Generator, int, str], Outcome]
ALPHA = 0.05
HOSTILE = ("heavy", "tailed", "crossed", "ceiling", "walking", "lopsided", "skewed", "noisy")
HOSTILE_SETS = 200
"""Kinds of data that break a statistic first, and the data sets that such a row needs at least: with 60, misses of 10% are seen
in half of the rows."""
UNITS = (2, 3, 5, 10, 40)


@dataclass(frozen=True)
class Entry:
    """A statistic with data of known truth.

    examines: the functions of the product, as "analysis.statistics.intervals.mean_interval". draw(generator, units, kind of data)
    draws a data set and returns the outcome. role: "interval" (does it contain the truth?), "test" (a claim where nothing is
    there), "rank" (the rank of the truth among the draws of a fit, uniform from 0 to 1). at_most: it is made to miss in less than
    5% (corrected for
    several comparisons, or an interval that is too wide by design).
    """

    name: str
    examines: tuple[str, ...]
    draw: Draw
    kinds: tuple[str, ...]
    unit: str = "room"
    role: str = "interval"
    sizes: tuple[int, ...] = UNITS
    sets: int = 1000
    at_most: bool = False

    def sets_of(self, kind: str) -> int:
        """Return how many data sets a row needs: those of the entry, at least HOSTILE_SETS on hostile kinds."""
        return max(self.sets, HOSTILE_SETS) if kind in HOSTILE else self.sets

    def missed(self, outcome: float) -> bool:
        """Return whether an outcome missed the truth; of a rank, whether it is in the outer 5%."""
        return abs(outcome - 0.5) > (1 - ALPHA) / 2 if self.role == "rank" else outcome > 0.5


def outside(ends: tuple[float, float], truth: float) -> Outcome:
    """Return 1 where an interval leaves out the truth, 0 where it contains it, None without an interval."""
    low, high = ends
    return None if isnan(low) or isnan(high) else float(not low <= truth <= high)


def claimed(p: float) -> Outcome:
    """Return 1 where p is below 5%, None without a p."""
    return None if isnan(p) else float(p < ALPHA)
