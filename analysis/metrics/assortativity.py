"""Are people linked to those who think as they do?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics import _network
from parley.analysis.metrics._network import NO_LINKS, Links, by_survey, correlation
from parley.analysis.metrics._rooms import Room, RoomMeasurement
from parley.analysis.tables import Tables

ORDER = 10
TITLE = "Attitude assortativity"
NOTE = (
    "Pearson's correlation of the attitudes at the two ends of each link, who hears and who is heard (Newman 2003): 1 where "
    "like is linked to like, 0 where links do not care, negative where opposites are linked. Links with an end that was not "
    "rated are left out. Means over rooms (populations)."
)
LABELS = {"rooms": "rooms", "assortativity": "assortativity", "reason": "why empty"}
NEEDS = _network.NEEDS


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (ratings), assortativity, reason."""
    return by_survey(tables, ("assortativity",), _measured)


def _measured(links: Links, values: Floats, room: Room) -> dict[str, RoomMeasurement]:
    return {"assortativity": assortativity(links, values)}


def assortativity(links: Links, values: Floats) -> RoomMeasurement:
    """The numeric assortativity coefficient of a directed graph (an undirected link counts both ways). None where the ends of
    the links do not vary.

    Source: Newman 2003, Physical Review E 67, 026126, eq. 21.
    """
    kept = links.among(~np.isnan(values))
    return correlation(values[kept.source], values[kept.target], NO_LINKS)
