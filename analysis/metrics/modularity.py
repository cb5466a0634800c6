"""Does the graph fall apart into parties, or into sides of the question?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.metrics._network import NO_LINKS, Ints, Links, by_survey
from parley.analysis.rooms import Room, RoomMeasurement
from parley.analysis.statistics.intervals import Floats
from parley.analysis.tables import Tables

ORDER = 11
TITLE = "Modularity"
NOTE = (
    "Modularity is the share of links within blocks, minus the share expected if links were redrawn with the same number of "
    "links per agent (directed: Leicht and Newman 2008). Blocks are the parties, or the sides of the question: ratings below, "
    "at and above the middle (5). Agents without a rating are on no side. The table shows means over rooms."
)
LABELS = {"rooms": "rooms", "party": "by party", "side": "by side", "reason": "reason if missing"}
NEEDS = "links"
MIDDLE = 5.0


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (ratings), party, side, reason."""
    return by_survey(tables, {"party": _party_modularity, "side": _side_modularity})


def _party_modularity(links: Links, values: Floats, room: Room) -> RoomMeasurement:
    return modularity(links, pd.factorize(room.parties)[0].astype(np.int64))


def _side_modularity(links: Links, values: Floats, room: Room) -> RoomMeasurement:
    rated = ~np.isnan(values)
    return modularity(links.among(rated), np.where(rated, np.sign(values - MIDDLE) + 1, 0).astype(np.int64))


def modularity(links: Links, blocks: Ints) -> RoomMeasurement:
    """Return Q, the sum over blocks of L / m - out * in / m²; None where all linked agents are in one block.

    m: all links; L: links within the block; out, in: links from its agents and to them. blocks: the block of each
    agent. Source: Leicht and Newman 2008, Physical Review Letters 100, 118703.
    """
    source, target, total = blocks[links.source], blocks[links.target], len(links.source)
    if not total:
        return RoomMeasurement(None, NO_LINKS)
    out, into = (np.bincount(ends, minlength=int(np.max(blocks)) + 1) for ends in (source, target))
    if (out + into > 0).sum() == 1:
        return RoomMeasurement(None, "one block only")
    return RoomMeasurement(float((source == target).mean() - (out @ into) / total**2))
