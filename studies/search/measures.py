"""Effects of settings within rooms, what a search promised, and what new rooms show of it.

The unit is the repetition: the rooms of one set of people, over all topics. An effect is the outcome with a setting minus the
outcome without an intervention, in the same room. The largest of many measured effects is too large (the winner's curse): its
noise helped to choose it. So its value in the search is no estimate of what it does. Two are: its effect on new rooms, and the
effect on each repetition of the search of the setting that is best on all other repetitions (Stone 1974), which needs no new
rooms, and holds for a choice from one repetition fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import NO_VARIATION, Floats, mean_interval, nanmean, why_no_interval

ROOM = ["topic", "repetition", "group"]
UNIT = "repetition"
ALL = "audience"
"""In place of a group, where all rooms of an audience are one row."""


@dataclass(frozen=True)
class Estimate:
    """A mean over units with its 95% interval. missing: rooms without a number. reason: why there is no interval."""

    value: float
    low: float
    high: float
    units: int
    missing: int
    reason: str

    @property
    def is_zero(self) -> bool:
        """Whether every unit has a difference of 0: nothing was changed at all."""
        return self.reason == NO_VARIATION and abs(self.value) < 1e-9


def mean_estimate(values: Floats, missing: int = 0) -> Estimate:
    """Return the mean of one number a unit (NaN: none), with Student's interval.

    >>> mean_estimate(np.array([1.0, np.nan])).reason
    'fewer than 5 repetitions'
    """
    finite = values[np.isfinite(values)]
    low, high = mean_interval(finite)
    value = float(finite.mean()) if len(finite) else float("nan")
    return Estimate(value, low, high, len(finite), missing, why_no_interval(finite, UNIT))


def pair_rooms(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row per room (ROOM) and a column per condition with the outcome; NaN: missing."""
    return pd.DataFrame({name: table.set_index(ROOM)["value"] for name, table in tables.items()})


def unit_effects(rooms: pd.DataFrame, condition: str, control: str) -> pd.Series:
    """Return condition minus control by unit: the mean over its rooms that have both numbers (NaN: none has)."""
    return (rooms[condition] - rooms[control]).groupby(level=UNIT).mean()


def changes_of(rooms: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Return what a setting changes for its audience: value is with minus without, a row per topic and repetition.

    rooms, control: rows of one audience as `RoomOutcome`. An audience may sit in several rooms, which other audiences do not
    have, so the value is their mean; it is missing where one of them has no number: the rest would be another audience.
    """
    both = rooms.set_index(ROOM).join(control.set_index(ROOM)[["value", "reason"]].add_suffix("_without"))
    both["value"] -= both["value_without"]
    both["reason"] = both["reason"].where(both["reason"].fillna("") != "", both["reason_without"])
    rows = [
        (topic, repetition, ALL, each["value"].mean(skipna=False), next(filter(None, each["reason"].fillna("")), ""))
        for (topic, repetition), each in both.groupby(level=["topic", UNIT], sort=False)
    ]
    return pd.DataFrame(rows, columns=[*ROOM, "value", "reason"]).astype({"value": "float64"})


def effect_of(rooms: pd.DataFrame, condition: str, control: str) -> Estimate:
    """Return condition minus control within rooms. rooms: of `pair_rooms`."""
    return gain_of(rooms, condition, control)


def gain_of(rooms: pd.DataFrame, condition: str, control: str, sign: int = 1, less: Floats | float = 0.0) -> Estimate:
    """Return condition minus control within rooms, turned by a sign, less what the condition costs more, of each unit."""
    missing = int((rooms[condition] - rooms[control]).isna().sum())
    return mean_estimate(sign * unit_effects(rooms, condition, control).to_numpy(dtype=float) - less, missing)


def cross_fitted(scores: Floats, effects: Floats) -> Floats:
    """Return for each unit the effect on it of the setting with the best mean score on all other units.

    scores, effects: (settings, units), NaN where missing. Needs two units.

    >>> scores = np.array([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0]])  # the third unit alone makes the first setting look good
    >>> cross_fitted(scores, scores).tolist()
    [0.0, 0.0, 1.0]
    """
    units = scores.shape[1]
    chosen = []
    for unit in range(units):
        means = nanmean(np.delete(scores, unit, axis=1), axis=1)
        chosen.append(effects[int(np.nanargmax(means)), unit] if np.isfinite(means).any() else np.nan)
    return np.array(chosen, dtype=float)


class Curse(NamedTuple):
    """What the search said of its best setting, and what is left. searched, new: its effect there. corrected: cross-fitted."""

    searched: Estimate
    new: Estimate
    corrected: float

    @property
    def shrinkage(self) -> float:
        """By how much the search promised more, in points of the outcome."""
        return self.searched.value - self.new.value


BETTER, NO_BETTER, WORSE, UNKNOWN = "better", "no better", "worse", "unknown"


def verdict_on(gain: Estimate) -> str:
    """Return what new rooms say of the best setting minus a random choice, in the wanted direction.

    No better: the interval has 0 in it, or nothing differs at all. Unknown: there is no interval.
    """
    if gain.is_zero:
        return NO_BETTER
    if np.isnan(gain.low):
        return UNKNOWN
    return BETTER if gain.low > 0 else WORSE if gain.high < 0 else NO_BETTER


def front(costs: Floats, scores: Floats) -> list[int]:
    """Return which settings no other one beats: none is as cheap and better, or as good and cheaper. Cheapest first.

    >>> front(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.4, 0.9, 0.9]))
    [0, 2]
    """
    order = sorted(range(len(costs)), key=lambda place: (costs[place], -scores[place]))
    best, kept = -np.inf, []
    for place in order:
        if scores[place] > best:
            best = scores[place]
            kept.append(place)
    return kept
