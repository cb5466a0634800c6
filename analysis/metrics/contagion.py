"""Who believes an item of news after each survey, and who came to believe it or no longer does: counts as of an infection (SIS).

Source: FPS (Liu et al. 2024, arXiv 2403.09498), which counts the susceptible and the infected by day. Departures: belief is a
rating of 0-10, believers are above its middle; nobody becomes immune, so that whoever stops is susceptible again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics._rooms import Room, RoomMeasurement, missing_measurements, room_means, rooms
from parley.analysis.tables import Tables

ORDER = 9
TITLE = "Believers"
NOTE = (
    "Of the people of a room: infected believe the news (above 5 of 10), susceptible do not. Caught are those who began to "
    "believe it since the survey before, recovered those who stopped, of the people rated at both; a rating that could not be "
    "read is neither, and is counted in the table. Means over rooms."
)
LABELS = {
    "rooms": "rooms",
    "susceptible": "susceptible",
    "infected": "infected",
    "caught": "caught",
    "recovered": "recovered",
    "reason": "why empty",
}
NEEDS = "beliefs"
MEASURES = ("susceptible", "infected", "caught", "recovered")
MIDDLE = 5.0
FIRST, NOBODY, NOBODY_TWICE = "no survey before", "nobody was rated", "nobody was rated twice in a row"


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (ratings), susceptible, infected, caught, recovered (people), reason."""
    kept = [room for room in rooms(tables) if room.topic in set(tables.beliefs["topic"])]
    return room_means([row for room in kept for row in _rows(room)], MEASURES)


def _rows(room: Room) -> Iterator[dict[str, Any]]:
    before: Floats | None = None
    for round_ in room.attitudes:
        now = room.at(round_)
        yield {**room.keys, "round": round_, "missing": missing_measurements(now), **counted(now, before)}
        before = now


def counted(now: Floats, before: Floats | None) -> dict[str, RoomMeasurement]:
    """Counts after a survey. now, before: beliefs by person (0-10, NaN where there is none); before None: it is the first.

    >>> {name: found.value for name, found in counted(np.array([6.0, 2.0, 9.0]), np.array([4.0, 7.0, 8.0])).items()}
    {'susceptible': 1.0, 'infected': 2.0, 'caught': 1.0, 'recovered': 1.0}
    """
    found = {
        "susceptible": _count(now <= MIDDLE, ~np.isnan(now), NOBODY),
        "infected": _count(now > MIDDLE, ~np.isnan(now), NOBODY),
    }
    if before is None:
        return found | dict.fromkeys(("caught", "recovered"), RoomMeasurement(None, FIRST))
    both = ~np.isnan(now) & ~np.isnan(before)
    caught, recovered = (before <= MIDDLE) & (now > MIDDLE), (before > MIDDLE) & (now <= MIDDLE)
    return found | {"caught": _count(caught, both, NOBODY_TWICE), "recovered": _count(recovered, both, NOBODY_TWICE)}


def _count(these: Any, among: Any, none: str) -> RoomMeasurement:
    return RoomMeasurement(float(np.sum(these & among))) if among.any() else RoomMeasurement(None, none)


def headline(found: pd.DataFrame) -> str:
    last = found[found["round"] == found["round"].max()]
    believers, rated = last["infected"].mean(), (last["infected"] + last["susceptible"]).mean()
    return f"Believers of the news at the end: {believers:.1f} of {rated:.1f} people rated, mean over rooms."
