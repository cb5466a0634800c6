"""Herding time: from which person on do all choose alike, and is that earlier than their order alone explains?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import RoomMeasurement, each_row, room_means
from parley.analysis.statistics.intervals import POSITIVE
from parley.analysis.tables import Tables

from .periods import FEW_ACTS, Period, periods

ORDER = 30
TITLE = "Herding time"
NOTE = (
    "Herding time is the place in the order of choosing from which on all people choose the same option. The column *expected "
    "by chance* has the mean herding time over all orders of the choices, computed exactly. For people who do not look at each "
    "other, the column `earlier` (expected by chance minus herding time) is 0 on average. Periods are averaged within rooms."
)
LABELS = {
    "rooms": "rooms", "time": "herding time", "chance": "expected by chance", "earlier": "earlier", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "decisions"
MEASURES = ("time", "chance", "earlier")
BOUNDS = dict.fromkeys(("time", "chance"), POSITIVE)


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (choices), time, chance, earlier, reason."""
    by_room: dict[tuple[str, str, str], list[Period]] = defaultdict(list)
    for period in periods(tables):
        by_room[period.topic, period.group, period.room].append(period)
    return room_means([_row(keys, of) for keys, of in by_room.items()], MEASURES, by=(), bounds=BOUNDS)


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["time"]) or np.isnan(row["earlier_low"]):
        return "It is unknown whether people herd, because rooms are too few or too alike for an interval."
    alike, chance = f"all choose alike from person {row['time']:.1f} on", f"{row['chance']:.1f}"
    same = f"{alike}, compared with person {chance} in a random order of the same choices"
    if row["earlier_low"] > 0:
        return f"People herd: {same}."
    return f"People do not herd by more than chance: {same}."


def _row(keys: tuple[str, str, str], of: Sequence[Period]) -> dict[str, Any]:
    acts = [[choice.act for choice in period.choices] for period in of if len(period.choices) > 1]
    row: dict[str, Any] = dict(zip(("topic", "group", "room"), keys, strict=True))
    row["missing"] = sum(period.missing for period in of)
    if not acts:
        return row | dict.fromkeys(MEASURES, RoomMeasurement(None, FEW_ACTS))
    time, chance = (float(np.mean([measure(choices) for choices in acts])) for measure in (herding_time, chance_time))
    values = map(RoomMeasurement, (time, chance, chance - time))
    return row | dict(zip(MEASURES, values, strict=True))


def herding_time(acts: Sequence[str]) -> int:
    """Return the place, from 1, of the first act from which on all acts are alike.

    >>> herding_time("ABBB"), herding_time("AAAA"), herding_time("AAAB")
    (2, 1, 4)
    """
    place = len(acts)
    while place > 1 and acts[place - 2] == acts[-1]:
        place -= 1
    return place


def chance_time(acts: Sequence[str]) -> float:
    """Return the mean herding time over all orders of the same acts.

    With a acts of one kind and b of the other, a random order ends with j acts of the first kind or more with the probability
    a (a-1) ... / n (n-1) ... (j factors each). Summed over j that is a / (b + 1), so the last run is a / (b+1) + b / (a+1) long.

    >>> chance_time("AB"), chance_time("AAAA"), round(chance_time("AAB"), 4)
    (2.0, 1.0, 2.6667)
    """
    first = sum(act == acts[0] for act in acts)
    other = len(acts) - first
    return len(acts) + 1 - first / (other + 1) - other / (first + 1)
