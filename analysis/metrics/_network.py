"""The rooms of a networked run: who hears whom after each round, and measures on that graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics._rooms import Room, RoomMeasurement, missing_measurements, room_means, rooms
from parley.analysis.tables import Tables

Ints = NDArray[np.int64]
NEEDS = "links"
"""The table without which there is nothing for these metrics to measure."""
NO_LINKS = "nobody is linked"


class Links(NamedTuple):
    """Places (in seating order) of those who hear and of whom they hear: link k is source[k] -> target[k]."""

    source: Ints
    target: Ints

    def among(self, there: NDArray[np.bool_]) -> Links:
        """Those with both ends among some."""
        kept = there[self.source] & there[self.target]
        return Links(self.source[kept], self.target[kept])


@dataclass(frozen=True)
class Population:
    """A room and the changes of its links (columns round, change, source, target; ends as places in seating order)."""

    room: Room
    changes: pd.DataFrame
    last: int

    def links(self, round_: int) -> Links:
        """The graph after a round: of every pair the last change until then."""
        until = self.changes[self.changes["round"] <= round_].drop_duplicates(["source", "target"], keep="last")
        there = until[until["change"] == "added"]
        return Links(there["source"].to_numpy(dtype=np.int64), there["target"].to_numpy(dtype=np.int64))


def populations(tables: Tables) -> Iterator[Population]:
    """Every room of a run with links, also one in which nobody was ever linked."""
    changes = dict(iter(tables.links.groupby("room", sort=False)))
    spoken = tables.utterances.groupby("room")["round"].max()
    for room in rooms(tables) if changes else ():
        here = _placed(changes.get(room.name, tables.links.iloc[:0]), room)
        surveyed = int(room.attitudes.columns.max()) if room.attitudes.shape[1] else 0
        changed = int(here["round"].max()) if len(here) else 0
        yield Population(room, here, max(int(spoken.get(room.name, 0)), changed, surveyed))


def _placed(changes: pd.DataFrame, room: Room) -> pd.DataFrame:
    place = pd.Series(range(len(room.parties)), index=room.parties.index)
    return changes.assign(**{end: changes[end].map(place).astype("int64") for end in ("source", "target")})


def by_survey(
    tables: Tables, measures: tuple[str, ...], of: Callable[[Links, Floats, Room], dict[str, RoomMeasurement]]
) -> pd.DataFrame:
    """A table of measures on graph and attitudes after each survey: one row a topic, group and round (see `means`)."""
    rows = (_row(one, round_, of) for one in populations(tables) for round_ in one.room.attitudes)
    return room_means(rows, measures)


def _row(
    one: Population, round_: int, of: Callable[[Links, Floats, Room], dict[str, RoomMeasurement]]
) -> dict[str, Any]:
    values = one.room.at(round_)
    found = of(one.links(round_), values, one.room)
    return {**one.room.keys, "round": round_, "missing": missing_measurements(values), **found}


def correlation(one: Floats, other: Floats, few: str) -> RoomMeasurement:
    """Pearson's r; None with `few` for a reason below two pairs, and where either does not vary."""
    if len(one) < 2:
        return RoomMeasurement(None, few)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return RoomMeasurement(None, "everybody alike")
    return RoomMeasurement(float(np.corrcoef(one, other)[0, 1]))


def heard_mean(links: Links, values: Floats) -> Floats:
    """The mean value of those whom each one hears, of the values that are there; NaN where there is none.

    >>> heard_mean(Links(np.array([0, 0, 1]), np.array([1, 2, 2])), np.array([9.0, 2.0, 4.0])).tolist()
    [3.0, 4.0, nan]
    """
    there = ~np.isnan(values[links.target])
    source, told = links.source[there], values[links.target][there]
    counts = np.bincount(source, minlength=len(values))
    sums = np.bincount(source, told, minlength=len(values))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
