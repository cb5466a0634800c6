"""How many agents believe a news item, who began and who stopped: counts as of an infection.

Source: FPS (Liu et al. 2024, arXiv 2403.09498), which counts the susceptible and the infected by day. Departures:
belief is a rating of 0-10, believers are above its middle; an agent that stops believing is susceptible again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import Room, RoomMeasurement, room_means, rooms
from parley.analysis.statistics.intervals import POSITIVE, Floats
from parley.analysis.tables import Tables

ORDER = 9
TITLE = "Believers"
NOTE = (
    "Infected agents believe the news (above 5 of 10); susceptible agents do not. The column *caught* has the share of agents "
    "that began to believe the news since the survey before, and *recovered* the share that stopped. Both shares are among "
    "agents rated at both surveys. An agent whose rating could not be read counts as missing. The table shows means over rooms."
)
LABELS = {
    "rooms": "rooms", "susceptible": "susceptible", "infected": "infected", "caught": "caught",
    "recovered": "recovered", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "beliefs"
BOUNDS = dict.fromkeys(("susceptible", "infected", "caught", "recovered"), POSITIVE)
MIDDLE = 5.0
FIRST, NOT_RATED, NOT_RATED_TWICE = "no survey before", "no agent was rated", "no agent was rated twice in a row"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, round: rooms, missing (ratings), susceptible, infected, caught, recovered, reason."""
    topics = set(tables.beliefs["topic"])
    with_news = (room for room in (rooms(tables) if topics else ()) if room.topic in topics)
    rows = (row for room in with_news for row in _rows(room))
    return room_means(rows, tuple(BOUNDS), bounds=BOUNDS)


def _rows(room: Room) -> Iterator[dict[str, Any]]:
    before: Floats | None = None
    for round_ in room.attitudes:
        now = room.at(round_)
        yield room.survey_keys(round_) | count_beliefs(now, before)
        before = now


def count_beliefs(now: Floats, before: Floats | None) -> dict[str, RoomMeasurement]:
    """Return counts after a survey. now, before: beliefs by agent (0-10, NaN: missing); before None: it is the first
    survey.

    >>> counts = count_beliefs(np.array([6.0, 2.0, 9.0]), np.array([4.0, 7.0, 8.0]))
    >>> {name: result.value for name, result in counts.items()}
    {'susceptible': 1.0, 'infected': 2.0, 'caught': 1.0, 'recovered': 1.0}
    """
    rated = ~np.isnan(now)
    counts = {
        "susceptible": _count(now <= MIDDLE, rated, NOT_RATED),
        "infected": _count(now > MIDDLE, rated, NOT_RATED),
    }
    if before is None:
        return counts | dict.fromkeys(("caught", "recovered"), RoomMeasurement(None, FIRST))
    both = rated & ~np.isnan(before)
    caught, recovered = (before <= MIDDLE) & (now > MIDDLE), (before > MIDDLE) & (now <= MIDDLE)
    return counts | {
        "caught": _count(caught, both, NOT_RATED_TWICE),
        "recovered": _count(recovered, both, NOT_RATED_TWICE),
    }


def _count(chosen: Any, among: Any, reason: str) -> RoomMeasurement:
    return RoomMeasurement(float(np.sum(chosen & among))) if among.any() else RoomMeasurement(None, reason)


def headline(table: pd.DataFrame) -> str:
    last = table[table["round"] == table["round"].max()]
    believers, rated = last["infected"].mean(), (last["infected"] + last["susceptible"]).mean()
    return f"At the end {believers:.1f} of {rated:.1f} rated agents believed the news (mean over rooms)."
