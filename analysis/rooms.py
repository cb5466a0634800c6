"""Rooms, the unit of metrics of whole rooms: attitudes by agent and survey, and means over rooms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.metrics._cells import COUNTS, REFERENCE, mean_columns, spans
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, Ends, Floats, too_few, why_no_interval
from parley.analysis.tables import Tables

KEYS = ("topic", "group")
TEXTS = ("party", "emotion", "move", "about")
"""Columns of `by` that are texts; all others are whole numbers."""


NONE = pd.DataFrame(dtype=float)


class RoomMeasurement(NamedTuple):
    """A number, or None and the reason why it is missing."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Room:
    """One debating room.

    attitudes: a row per agent, in seating order, and a column per survey, named by its round (0: before the debate);
    NaN where the rating could not be read. parties: the party of each agent.
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
        """Return the attitudes after a round, in seating order."""
        values: Floats = self.attitudes[round_].to_numpy(dtype=float)
        return values

    def rated(self, round_: int) -> Floats:
        """Return the attitudes after a round that could be read."""
        return self.at(round_)[~np.isnan(self.at(round_))]

    def survey_keys(self, round_: int) -> dict[str, Any]:
        """Return the columns with which the row of a survey begins: keys, round, and missing ratings."""
        return {**self.keys, "round": round_, "missing": int(self.attitudes[round_].isna().sum())}


def rooms(tables: Tables) -> Iterator[Room]:
    """Yield every debating room, by topic and group, in seating order, with its ratings of the run's main question."""
    ratings = tables.attitudes[tables.attitudes["probe"] == tables.header.scenario["probe"]]
    wide = ratings.pivot(index=["room", "agent"], columns="round", values="attitude")
    by_room = {name: room_ratings.droplevel("room") for name, room_ratings in wide.groupby(level="room", sort=False)}
    surveys = ratings.groupby("room", sort=False)["round"].unique()
    seated = tables.agents[(tables.agents["group"] != REFERENCE) & (tables.agents["agent"] != 0)]  # 0: a mediator
    for (topic, group, name), people in seated.groupby(["topic", "group", "room"], sort=False):
        parties = people.set_index("agent")["party"]
        attitudes = by_room.get(name, NONE).reindex(index=parties.index, columns=sorted(surveys.get(name, ())))
        yield Room(topic, group, name, attitudes, parties)


def room_means(
    rows: Iterable[Mapping[str, Any]],
    measures: Sequence[str],
    by: Sequence[str] = ("round",),
    bounds: Mapping[str, Ends | None] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return means over rooms: one row per topic, group and the columns in `by`.

    rows: one per room (and round): topic, group, room, `by`, missing (unread ratings), and a `RoomMeasurement` per
    measure. bounds: of measures that have any, within which their intervals stay. Columns of the result: topic, group,
    `by`, rooms, missing, each measure with its 95% interval over rooms, and reason (why a measure is missing, is over
    fewer rooms, or has no interval).
    """
    grouped: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Mapping[str, Any]]]] = {}
    for row in rows:
        cells = grouped.setdefault(tuple([row[name] for name in KEYS]), {})
        cells.setdefault(tuple([row[name] for name in by]), []).append(row)
    means = [
        dict(zip((*KEYS, *by), (*keys, *place), strict=True)) | _mean_row(group[place], measures, bounds)
        for keys, group in grouped.items()
        for place in sorted(group)
    ]
    kinds = (
        dict.fromkeys(KEYS, "object")
        | {name: "object" if name in TEXTS else "int64" for name in by}
        | COUNTS
        | spans(*measures)
        | {"reason": "object"}
    )
    return pd.DataFrame(means, columns=list(kinds)).astype(kinds)


def _mean_row(
    room_rows: Sequence[Mapping[str, Any]], measures: Sequence[str], bounds: Mapping[str, Ends | None]
) -> dict[str, Any]:
    row: dict[str, Any] = {"rooms": len(room_rows), "missing": sum(int(room_row["missing"]) for room_row in room_rows)}
    reasons = [too_few()] if len(room_rows) < FEWEST else []
    for name in measures:
        results = [room_row[name] for room_row in room_rows]
        values = np.array([result.value for result in results if result.value is not None], dtype=float)
        if len(values):
            row |= mean_columns(name, values, bounds.get(name))
            reasons += [f"{name}: {NO_VARIATION}"] if why_no_interval(values) == NO_VARIATION else []
        reasons += [f"{name}: {reason}" for reason in _missing_reasons(results)]
    return row | {"reason": "; ".join(reasons) or None}


def _missing_reasons(results: Sequence[RoomMeasurement]) -> Iterator[str]:
    """Yield each reason: `all agents alike` if it holds in every room, else with a count: `all agents alike (2 of 5 rooms)`."""
    missing = [result.reason for result in results if result.value is None and result.reason is not None]
    for reason, count in Counter(missing).items():
        yield reason if count == len(results) else f"{reason} ({count} of {len(results)} rooms)"


def each_row(table: pd.DataFrame, sentence: Callable[[Mapping[Any, Any]], str]) -> str:
    """Return a sentence for each row of a metric; the topic and the group lead it where there are several."""
    keys = [key for key in KEYS if table[key].nunique() > 1]
    told = []
    for row in table.to_dict("records"):
        lead = ", ".join(str(row[key]).replace("_", " ") for key in keys)
        told.append(f"{lead}: {sentence(row)}" if lead else sentence(row))
    return " ".join(told)


def why_unknown(row: Mapping[Any, Any], measure: str) -> str:
    """Return what the reason of a row says about one of its measures.

    >>> why_unknown({"reason": "fewer than 5 rooms; variance: no variation"}, "change")
    'fewer than 5 rooms'
    """
    parts = str(row["reason"] or "").split("; ")
    reasons = [
        phrase.removeprefix(f"{measure}: ")
        for phrase in parts
        if phrase.startswith(f"{measure}: ") or ": " not in phrase
    ]
    return "; ".join(filter(None, reasons)) or "no interval"


def seat_means(ratings: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Return a row per combination of keys: n (rooms rated), missing, mean, sd and se = sd / sqrt(n) of a column."""
    means = ratings.groupby(list(keys), sort=False)[value].agg(n="count", asked="size", mean="mean", sd="std")
    means["missing"] = means.pop("asked") - means["n"]
    means["se"] = means["sd"] / means["n"] ** 0.5
    return means
