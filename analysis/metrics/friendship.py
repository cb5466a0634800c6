"""The friendship paradox: are the agents that one hears better connected, and more active, than oneself?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics._network import NO_LINKS, Links, heard_mean, populations
from parley.analysis.metrics._rooms import RoomMeasurement, room_means
from parley.analysis.tables import Tables

ORDER = 15
TITLE = "Friendship paradox"
NOTE = (
    "The share of agents whose heard neighbours exceed them on average, of the agents that hear any. Degree: the "
    "number of agents that hear one (Feld 1991). Activity: the lines said so far (the generalised paradox, Eom and "
    "Jo 2014). A tie does not count. Numbers are means over rooms."
)
LABELS = {"rooms": "rooms", "degree": "degree", "activity": "activity", "reason": "reason if missing"}
NEEDS = "links"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (always 0: no rating is used), degree, activity, reason."""
    return room_means(_rows(tables), ("degree", "activity"))


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    spoken = tables.utterances[tables.utterances["text"].notna()]
    by_room = dict(iter(spoken.groupby("room", sort=False)))
    for population in populations(tables):
        agents, lines = population.room.parties.index, by_room.get(population.room.name, spoken.iloc[:0])
        for round_ in range(population.last + 1):
            links = population.links(round_)
            degree = np.bincount(links.target, minlength=len(agents)).astype(float)
            counts = lines.loc[lines["round"] <= round_, "agent"].value_counts()
            activity = counts.reindex(agents, fill_value=0).to_numpy(dtype=float)
            row = {**population.room.keys, "round": round_, "missing": 0, "degree": paradox(links, degree)}
            silent = RoomMeasurement(None, "nobody has spoken")
            yield row | {"activity": paradox(links, activity) if counts.sum() else silent}


def paradox(links: Links, values: Floats) -> RoomMeasurement:
    """Return the share of agents with a value below the mean of those that they hear, of the agents that hear any.

    A star, its centre linked both ways to three others: 3 of 4.

    >>> star = Links(np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 0, 0, 0]))
    >>> paradox(star, np.array([3.0, 1.0, 1.0, 1.0])).value
    0.75
    """
    heard = heard_mean(links, values)
    hearing = ~np.isnan(heard)
    if not hearing.any():
        return RoomMeasurement(None, NO_LINKS)
    return RoomMeasurement(float((heard[hearing] > values[hearing] + 1e-9).mean()))
