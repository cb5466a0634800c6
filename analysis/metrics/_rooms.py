"""What metrics of whole rooms have in common: a room's attitudes, and numbers a room and round as means over rooms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, NO_VARIATION, Floats, mean_interval, too_few, why_no_interval
from parley.analysis.metrics._cells import REFERENCE, spans, with_interval
from parley.analysis.tables import Tables

KEYS = ("topic", "group")


class RoomMeasurement(NamedTuple):
    """A number, or None and the reason why there is none."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Room:
    """One debating room. `attitudes` has a row an agent, in seating order, and a column a survey, named by its round (0 first);
    NaN: no rating could be read. `parties` has the party of each agent.
    """

    topic: str
    group: str
    name: str
    attitudes: pd.DataFrame
    parties: pd.Series

    @property
    def keys(self) -> dict[str, str]:
        return {"topic": self.topic, "group": self.group, "room": self.name}

    def at(self, round_: int) -> Floats:
        """The attitudes after a round, in seating order."""
        values: Floats = self.attitudes[round_].to_numpy(dtype=float)
        return values


def rooms(tables: Tables) -> Iterator[Room]:
    """Every debating room, by topic and group in seating order; ratings are those of the run's own probe."""
    asked = tables.attitudes[tables.attitudes["probe"] == tables.header.scenario["probe"]]
    rated = dict(iter(asked.groupby("room", sort=False)))
    seated = tables.agents[(tables.agents["group"] != REFERENCE) & (tables.agents["agent"] != 0)]  # 0: a mediator
    for (topic, group, name), people in seated.groupby(["topic", "group", "room"], sort=False):
        here = rated.get(name, asked.iloc[:0]).pivot(index="agent", columns="round", values="attitude")
        parties = people.set_index("agent")["party"]
        yield Room(topic, group, name, here.reindex(parties.index).sort_index(axis=1), parties)


def room_means(
    rows: Iterable[Mapping[str, Any]], measures: Sequence[str], by: Sequence[str] = ("round",)
) -> pd.DataFrame:
    """Means over rooms: one row a topic, group and what else is in `by`.

    rows: one a room (and round): topic, group, room, `by`, missing (ratings that could not be read), and a
    `RoomMeasurement` a measure.
    Columns: topic, group, `by`, rooms, missing, each measure with its 95% interval over rooms, reason (why one is empty, or
    is over fewer rooms, or has no interval).
    """
    kept = pd.DataFrame(list(rows), columns=[*KEYS, "room", *by, "missing", *measures])
    parts = [part for _, whole in kept.groupby([*KEYS], sort=False) for _, part in whole.groupby([*KEYS, *by])]
    found = [_mean({key: part[key].iloc[0] for key in (*KEYS, *by)}, part, measures) for part in parts]
    kinds = dict.fromkeys(KEYS, "object") | dict.fromkeys([*by, "rooms", "missing"], "int64")
    kinds |= spans(*measures) | {"reason": "object"}
    return pd.DataFrame(found, columns=list(kinds)).astype(kinds)


def _mean(keys: dict[str, Any], part: pd.DataFrame, measures: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {**keys, "rooms": len(part), "missing": int(part["missing"].sum())}
    reasons = [too_few()] if len(part) < FEWEST else []
    for name in measures:
        values = np.array([one.value for one in part[name] if one.value is not None], dtype=float)
        if len(values):
            row |= with_interval(name, float(values.mean()), mean_interval(values))
            reasons += [f"{name}: {NO_VARIATION}"] if why_no_interval(values) == NO_VARIATION else []
        reasons += [f"{name}: {told}" for told in _why(part[name])]
    return row | {"reason": "; ".join(reasons) or None}


def _why(found: Iterable[RoomMeasurement]) -> Iterator[str]:
    """`everybody alike` where that is so in every room, `everybody alike (2 of 5 rooms)` where it is so in some."""
    known = list(found)
    why = pd.Series([one.reason for one in known if one.value is None], dtype="object").value_counts(sort=False)
    for reason, count in why.items():
        yield str(reason) if count == len(known) else f"{reason} ({count} of {len(known)} rooms)"


def missing_measurements(values: Floats) -> int:
    """How many ratings could not be read."""
    return int(np.isnan(values).sum())


def rated_rooms(values: Floats) -> Floats:
    """Those that could."""
    return values[~np.isnan(values)]
