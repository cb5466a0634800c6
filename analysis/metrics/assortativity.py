"""Are agents linked to those who think as they do?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.metrics._network import NO_LINKS, Links, by_survey, pearson
from parley.analysis.rooms import RoomMeasurement
from parley.analysis.statistics.intervals import Floats
from parley.analysis.tables import Tables

ORDER = 10
TITLE = "Attitude assortativity"
NOTE = (
    "Assortativity is Pearson's correlation of the attitudes at the two ends of a link, hearer and speaker (Newman 2003). "
    "Assortativity is 1 if links join agents who think alike, 0 if links do not depend on attitudes, and negative if links join "
    "opposites. Links to an agent without a rating are left out. The table shows means over rooms."
)
LABELS = {"rooms": "rooms", "assortativity": "assortativity", "reason": "reason if missing"}
NEEDS = "links"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (ratings), assortativity, reason."""
    return by_survey(tables, {"assortativity": lambda links, values, room: assortativity(links, values)})


def assortativity(links: Links, values: Floats) -> RoomMeasurement:
    """Return the numeric assortativity of a directed graph (an undirected link counts both ways); None where attitudes
    at one end do not vary.

    Source: Newman 2003, Physical Review E 67, 026126, eq. 21.
    """
    rated = links.among(~np.isnan(values))
    return pearson(values[rated.source], values[rated.target], NO_LINKS)
