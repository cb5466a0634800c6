"""Does a recommender drive people apart? The same people under each recommender and the control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.contrasts import Sides, amount
from parley.analysis.metrics.polarisation import spreading
from parley.analysis.rooms import Room, RoomMeasurement, room_means, rooms, why_unknown
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.environments.base import UNDER

ORDER = 22
TITLE = "Polarisation by recommender"
NOTE = (
    "The table compares pairs of rooms with the same people and the same links at the start, but different recommenders. The "
    "control is the random recommender, or the first recommender if no run uses the random one. Variance is the change of the "
    "variance of attitudes (0-10) from the first survey to the last, minus the change for the same people under the control. "
    "Distance is the same comparison for the gap between the two parties' mean attitudes. A number above 0 means that people "
    "end further apart than under the control. The table shows means over pairs of rooms. If opinions do not depend on what "
    "people read, both numbers are 0 on average."
)
LABELS = {"rooms": "pairs", "variance": "variance", "distance": "distance of parties", "reason": "reason if missing"}
NEEDS = "conditions"
MEASURES = ("variance", "distance")
CONTROL = "random"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and recommender but the control: rooms (pairs), missing (ratings), variance, distance, reason."""
    return room_means(_rows(tables), MEASURES, by=())


def headline(table: pd.DataFrame) -> str:
    """Return a sentence for each topic and recommender."""
    return " ".join(_sentence(row) for row in table.to_dict("records"))


def _sentence(row: dict[str, Any]) -> str:
    name, low, high = row["group"].partition(UNDER)[2].replace("_", " "), row["variance_low"], row["variance_high"]
    if pd.isna(low):
        why = why_unknown(row, "variance")
        return unknown_sentence(
            f'whether opinions end further apart under the recommender "{name}" than under the control', why
        )
    if low <= 0 <= high:
        return f'Under the recommender "{name}", the variance of opinions differed from the control by no more than chance.'
    size = amount((row["variance"], low, high), Sides("above that of the control", "below that of the control"), "")
    return f'Under the recommender "{name}", the variance of opinions ended {size}.'


def control(groups: list[str]) -> str:
    """Return the group that the others are compared with: the one under the random recommender, else the first."""
    return next((group for group in groups if group.partition(UNDER)[2] == CONTROL), groups[0])


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    every = {(room.topic, room.group, _repetition(room)): room for room in rooms(tables)}
    compared = [group for group in tables.groups if UNDER in group]
    base = control(compared) if compared else ""
    for (topic, group, repetition), room in every.items():
        other = every.get((topic, base, repetition))
        if group in compared and group != base and other is not None:
            last = [
                int(compared_room.attitudes.iloc[:, [0, -1]].isna().any(axis=1).sum())
                for compared_room in (room, other)
            ]
            yield {**room.keys, "missing": sum(last), **compare(room, other)}


def _repetition(room: Room) -> str:
    return room.name.rpartition("/")[2]


def compare(room: Room, other: Room) -> dict[str, RoomMeasurement]:
    """Return the differences of a room from the room with the same people under the control."""
    return {
        "variance": _difference(*[spreading(_ends(compared_room)) for compared_room in (room, other)]),
        "distance": _difference(*[parting(compared_room) for compared_room in (room, other)]),
    }


def _ends(room: Room) -> Any:
    """Return the attitudes at the first and the last survey, (agents, 2)."""
    return room.attitudes.iloc[:, [0, -1]].to_numpy(dtype=float)


def parting(room: Room) -> RoomMeasurement:
    """Return the change of the gap between the two parties' means, over agents rated at both surveys."""
    ends, parties = _ends(room), room.parties.to_numpy()
    rated_twice = np.isfinite(ends).all(axis=1)
    means = [ends[rated_twice & (parties == party)].mean(axis=0) for party in pd.unique(parties[rated_twice])]
    if len(means) != 2:
        return RoomMeasurement(None, "not two parties")
    before, after = abs(means[0] - means[1])
    return RoomMeasurement(float(after - before))


def _difference(first: RoomMeasurement, other: RoomMeasurement) -> RoomMeasurement:
    if first.value is None or other.value is None:
        return RoomMeasurement(None, first.reason or other.reason)
    return RoomMeasurement(first.value - other.value)
