"""Rooms of a networked run: who hears whom after each round, and measures on that graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.rooms import Room, RoomMeasurement, room_means, rooms
from parley.analysis.statistics.intervals import SIGNED, Floats
from parley.analysis.tables import Tables

Ints = NDArray[np.int64]
NO_LINKS = "no agent is linked"


class Links(NamedTuple):
    """Links as places in seating order: the agent at source[k] hears the agent at target[k]."""

    source: Ints
    target: Ints

    def among(self, chosen: NDArray[np.bool_]) -> Links:
        """Return the links with both ends among the chosen agents."""
        both = chosen[self.source] & chosen[self.target]
        return Links(self.source[both], self.target[both])


@dataclass(frozen=True)
class Population:
    """A room with the changes of its links (columns round, change, source, target; ends as places) and its last round."""

    room: Room
    changes: pd.DataFrame
    last: int

    def links(self, round_: int) -> Links:
        """Return the graph after a round: the latest change of every pair decides."""
        latest = self.changes[self.changes["round"] <= round_].drop_duplicates(["source", "target"], keep="last")
        linked = latest[latest["change"] == "added"]
        return Links(linked["source"].to_numpy(dtype=np.int64), linked["target"].to_numpy(dtype=np.int64))


def populations(tables: Tables) -> Iterator[Population]:
    """Yield every room of a run with links, also a room without any link."""
    if not tables.links.empty:
        yield from drawn_populations(tables)


def drawn_populations(tables: Tables) -> Iterator[Population]:
    """Yield every room of a run with links or tables, which can be drawn."""
    changes = dict(iter(tables.links.groupby("room", sort=False)))
    last_spoken = tables.utterances.groupby("room")["round"].max()
    for room in rooms(tables) if changes or len(tables.places) else ():
        place = pd.Series(range(len(room.parties)), index=room.parties.index)
        links = changes.get(room.name, tables.links.iloc[:0])
        links = links.assign(**{end: links[end].map(place).astype("int64") for end in ("source", "target")})
        last = max([int(last_spoken.get(room.name, 0)), *map(int, links["round"]), *map(int, room.attitudes.columns)])
        yield Population(room, links, last)


def by_survey(tables: Tables, measures: Mapping[str, Callable[[Links, Floats, Room], RoomMeasurement]]) -> pd.DataFrame:
    """Return measures of the graph and the attitudes after each survey: a row per topic, group and round (`room_means`).

    Measures lie between -1 and 1.
    """

    def rows() -> Iterator[dict[str, Any]]:
        for population in populations(tables):
            room = population.room
            for round_ in room.attitudes:
                links, values = population.links(round_), room.at(round_)
                results = {name: measure(links, values, room) for name, measure in measures.items()}
                yield room.survey_keys(round_) | results

    return room_means(rows(), list(measures), bounds=dict.fromkeys(measures, SIGNED))


def pearson(x: Floats, y: Floats, few: str) -> RoomMeasurement:
    """Return Pearson's r; None with the reason `few` below two pairs, and None where x or y does not vary."""
    if len(x) < 2:
        return RoomMeasurement(None, few)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return RoomMeasurement(None, "all agents alike")
    return RoomMeasurement(float(np.corrcoef(x, y)[0, 1]))


def heard_mean(links: Links, values: Floats) -> Floats:
    """Return, for each agent, the mean value of the agents that it hears; NaN where none of them has a value.

    >>> heard_mean(Links(np.array([0, 0, 1]), np.array([1, 2, 2])), np.array([9.0, 2.0, 4.0])).tolist()
    [3.0, 4.0, nan]
    """
    is_rated = ~np.isnan(values[links.target])
    source, heard = links.source[is_rated], values[links.target][is_rated]
    counts, sums = (np.bincount(source, weights, minlength=len(values)) for weights in (None, heard))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
