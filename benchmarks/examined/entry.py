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
UNITS = (2, 3, 5, 10, 40)
FEWEST_SETS = 200
"""Data sets of a row: with 60, misses of 10% are seen in half of the rows."""


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

    def __post_init__(self) -> None:
        if self.sets < FEWEST_SETS:
            raise ValueError(f"{self.name}: {self.sets} data sets are fewer than {FEWEST_SETS}")

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
