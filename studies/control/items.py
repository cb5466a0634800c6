"""One thing that a scenario fixes, what the record shows of it, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from parley.analysis.statistics.intervals import ALIKE, Floats, mean_interval, p_of_mean, why_no_interval

KEPT, BROKEN, UNKNOWN = "kept", "not kept", "is unknown"
ALPHA = 0.05
NO_UNITS = "the record has none"


@dataclass(frozen=True)
class Item:
    """A fixed thing. shown, low, high: as a number with a 95% interval where chance decides, else low and high are NaN.

    units: how many `unit`s (room, repetition, persona) were compared. p: that chance alone makes such a difference (NaN: chance
    has no part). verdict: kept, not kept, is unknown; reason: why it is unknown, or what differs.
    """

    what: str
    fixed: str
    shown: str
    units: int
    unit: str
    verdict: str = KEPT
    reason: str = ""
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan


def exact(what: str, fixed: str, pairs: Iterable[tuple[object, object]], unit: str) -> Item:
    """Return an item that is kept only if both values of every pair (fixed, shown; a pair per unit) are the same.

    >>> exact("rounds", "5", [(5, 5), (5, 4)], "room").reason
    '1 of 2 rooms: 4 instead of 5'
    """
    listed = list(pairs)
    wrong = [(wanted, found) for wanted, found in listed if wanted != found]
    shown = f"the same in {len(listed) - len(wrong)} of {len(listed)} {unit}s"
    item = Item(what, fixed, shown, len(listed), unit)
    if not listed:
        return replace(item, verdict=UNKNOWN, reason=NO_UNITS)
    if not wrong:
        return item
    wanted, found = wrong[0]
    return replace(item, verdict=BROKEN, reason=f"{len(wrong)} of {len(listed)} {unit}s: {found} instead of {wanted}")


def sampled(what: str, fixed: float, values: Floats, unit: str) -> Item:
    """Return an item that chance decides: the mean of one number per unit is compared with what is fixed, by Student's t."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Item(what, f"{fixed:.3g}", "–", 0, unit, UNKNOWN, NO_UNITS)
    low, high = mean_interval(known)
    item = Item(
        what, f"{fixed:.3g}", f"{known.mean():.3g}", len(known), unit, low=low, high=high, p=p_of_mean(known - fixed)
    )
    if np.abs(known - fixed).max() < ALIKE:
        return item
    if why := why_no_interval(known, unit):
        return replace(item, verdict=UNKNOWN, reason=why)
    return item


def decide(items: Iterable[Item]) -> list[Item]:
    """Return the items with verdicts on those that chance decides: not kept if p is below 0.05 / their number (Bonferroni)."""
    listed = list(items)
    tested = sum(bool(np.isfinite(item.p)) for item in listed)
    return [
        replace(item, verdict=BROKEN, reason=f"p = {item.p:.2g}") if item.p < ALPHA / max(tested, 1) else item
        for item in listed
    ]


def unknown(what: str, fixed: str, reason: str) -> Item:
    """Return an item about which the record says nothing."""
    return Item(what, fixed, "–", 0, "", UNKNOWN, reason)
