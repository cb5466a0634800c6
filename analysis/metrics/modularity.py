"""Does the graph fall apart into parties, or into sides?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics import _network
from parley.analysis.metrics._network import NO_LINKS, Ints, Links, by_survey
from parley.analysis.metrics._rooms import Room, RoomMeasurement
from parley.analysis.tables import Tables

ORDER = 11
TITLE = "Modularity"
NOTE = (
    "The share of links within blocks, less what it would be if links were dealt out anew with the same number at each person "
    "(directed: Leicht and Newman 2008). Blocks are the parties, or the sides of the axis: below, at and above its middle (5), "
    "of those who were rated. Means over rooms (populations)."
)
LABELS = {"rooms": "rooms", "party": "by party", "side": "by side", "reason": "why empty"}
NEEDS = _network.NEEDS
MIDDLE = 5.0


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (ratings), party, side, reason."""
    return by_survey(tables, ("party", "side"), _measured)


def _measured(links: Links, values: Floats, room: Room) -> dict[str, RoomMeasurement]:
    parties = pd.factorize(room.parties)[0].astype(np.int64)
    there = ~np.isnan(values)
    sides = np.where(there, np.sign(values - MIDDLE) + 1, 0).astype(np.int64)
    return {"party": modularity(links, parties), "side": modularity(links.among(there), sides)}


def modularity(links: Links, blocks: Ints) -> RoomMeasurement:
    """Q = sum over blocks of L / m - out * in / m², of m links in all L within the block, `out` from its people and `in` to them.
    None where all who are linked are of one block.

    Source: Leicht and Newman 2008, Physical Review Letters 100, 118703.
    """
    source, target, many = blocks[links.source], blocks[links.target], len(links.source)
    if not many:
        return RoomMeasurement(None, NO_LINKS)
    size = int(np.max(blocks)) + 1
    out, into = np.bincount(source, minlength=size), np.bincount(target, minlength=size)
    if (out + into > 0).sum() == 1:
        return RoomMeasurement(None, "one block only")
    return RoomMeasurement(float((source == target).mean() - (out @ into) / many**2))
