"""The friendship paradox: are those whom people hear better connected, and busier, than they are themselves?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics import _network
from parley.analysis.metrics._network import NO_LINKS, Links, heard_mean, populations
from parley.analysis.metrics._rooms import RoomMeasurement, room_means
from parley.analysis.tables import Tables

ORDER = 15
TITLE = "Friendship paradox"
NOTE = (
    "The share of people (of those who hear anybody) whom those they hear exceed on average: in degree, the number of people "
    "by whom one is heard (Feld 1991), and in activity, the lines said so far (the generalised paradox, Eom and Jo 2014). A tie "
    "is none. Means over rooms (populations)."
)
LABELS = {"rooms": "rooms", "degree": "degree", "activity": "activity", "reason": "why empty"}
NEEDS = _network.NEEDS


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (always 0: no rating is used), degree, activity, reason."""
    return room_means(_rows(tables), ("degree", "activity"))


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    spoken = tables.utterances[tables.utterances["text"].notna()]
    said = dict(iter(spoken.groupby("room", sort=False)))
    for one in populations(tables):
        lines = said.get(one.room.name, spoken.iloc[:0])
        for round_ in range(one.last + 1):
            links, people = one.links(round_), one.room.parties.index
            degree = np.bincount(links.target, minlength=len(people)).astype(float)
            counts = lines.loc[lines["round"] <= round_, "agent"].value_counts()
            activity = counts.reindex(people, fill_value=0).to_numpy(dtype=float)
            row = {**one.room.keys, "round": round_, "missing": 0, "degree": paradox(links, degree)}
            yield row | {
                "activity": paradox(links, activity) if counts.sum() else RoomMeasurement(None, "nobody has spoken")
            }


def paradox(links: Links, values: Floats) -> RoomMeasurement:
    """The share of those who hear anybody with a value below the mean of those they hear.

    A star, its centre linked both ways to three others: 3 of 4.

    >>> star = Links(np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 0, 0, 0]))
    >>> paradox(star, np.array([3.0, 1.0, 1.0, 1.0])).value
    0.75
    """
    theirs = heard_mean(links, values)
    hearing = ~np.isnan(theirs)
    if not hearing.any():
        return RoomMeasurement(None, NO_LINKS)
    return RoomMeasurement(float((theirs[hearing] > values[hearing] + 1e-9).mean()))
