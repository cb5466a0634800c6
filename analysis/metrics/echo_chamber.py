"""Do people hear their own attitude? Correlation with the mean of those they hear, beside shuffled attitudes."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats, nanmean
from parley.analysis.metrics import _network
from parley.analysis.metrics._cells import with_interval
from parley.analysis.metrics._network import Links, Population, by_survey, correlation, heard_mean, populations
from parley.analysis.metrics._rooms import KEYS, Room, RoomMeasurement
from parley.analysis.tables import Tables
from parley.llm.seeding import derive

ORDER = 12
TITLE = "Echo chambers"
NOTE = (
    "The correlation of a person's attitude with the mean attitude of those that it hears (after Cota et al. 2019 and Cinelli et "
    "al. 2021), means over rooms (populations). Shuffled is what the same links give when attitudes are dealt out "
    "anew among the people of a room: the mean of 499 deals and the middle 95% of them; p in `tables/` is the share of deals "
    "that reach the index (the true one counts as a deal)."
)
LABELS = {"rooms": "rooms", "index": "index", "null": "shuffled", "reason": "why empty"}
NEEDS = _network.NEEDS
DEALS = 499


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (ratings), index, reason, null with the middle 95% of the deals, p."""
    found = by_survey(tables, ("index",), _measured)
    keys = [*KEYS, "round"]
    nulls = _nulls(tables)
    rows = [_beside(nulls.get(tuple(row[key] for key in keys)), row["index"]) for row in found.to_dict("records")]
    names = ["null", "null_low", "null_high", "p"]
    return found.join(pd.DataFrame(rows, columns=names, index=found.index).astype("float64"))


def _measured(links: Links, values: Floats, room: Room) -> dict[str, RoomMeasurement]:
    return {"index": index(links, values)}


def index(links: Links, values: Floats) -> RoomMeasurement:
    """Pearson's r over those who were rated and hear somebody who was."""
    heard = heard_mean(links, values)
    kept = ~np.isnan(values) & ~np.isnan(heard)
    return correlation(values[kept], heard[kept], "nobody hears anybody who was rated")


def _nulls(tables: Tables) -> dict[tuple[str, str, int], Floats]:
    """By topic, group and round: the mean over rooms of the index, deal by deal; rooms without an index are left out."""
    deals: dict[tuple[str, str, int], list[Floats]] = defaultdict(list)
    for one in populations(tables):
        for round_ in one.room.attitudes:
            if index(one.links(round_), one.room.at(round_)).value is not None:
                deals[one.room.topic, one.room.group, int(round_)].append(shuffled(one, int(round_)))
    return {key: nanmean(np.stack(rooms)) for key, rooms in deals.items()}


def shuffled(one: Population, round_: int) -> Floats:
    """The index for each deal of the room's attitudes among those who were rated; NaN where it is undefined."""
    rng = np.random.default_rng(derive(0, "echo chamber", one.room.name, round_))
    links, values = one.links(round_), one.room.at(round_)
    there, dealt, found = ~np.isnan(values), values.copy(), []
    for _ in range(DEALS):
        dealt[there] = rng.permutation(values[there])
        found.append(index(links, dealt).value)
    return np.array(found, dtype=float)


def _beside(null: Floats | None, true: float) -> dict[str, float]:
    known = null[np.isfinite(null)] if null is not None else np.empty(0)
    if not len(known):
        return {}
    low, high = np.quantile(known, [0.025, 0.975])
    reached = int((known >= true - 1e-12).sum())
    return with_interval("null", float(known.mean()), (float(low), float(high))) | {
        "p": (reached + 1) / (len(known) + 1)
    }
