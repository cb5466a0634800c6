"""The outcome of a claim as a number for each room: a column of a metric, or the mean of a column of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.metrics import METRICS, applies, metrics
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.rating_value import rating_value
from parley.analysis.tables import Tables
from parley.llm.errors import UserError, unknown_name

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "attitudes": ("attitude",),
    "probes": (),
    "moves": ("value",),
    "outcomes": ("points",),
}
"""Tables of which a column can be an outcome; of `probes`, the name of a further question."""
LAST = frozenset({"attitudes", "probes"})
"""Tables of which only the ratings after the last round count."""
COUNTS = frozenset({"rooms", "reason"})
ROOMS = ["topic", "repetition", "group", "room", "value", "reason"]
NO_VALUE = "no number in this room"


class RoomKey(NamedTuple):
    """A debating room: its topic, its people (the repetition), its group and its name."""

    topic: str
    repetition: int
    group: str
    room: str


@dataclass(frozen=True)
class Outcome:
    """What is measured in a room. source: the name of a metric or of a table. column: a column of it."""

    source: str
    column: str

    def measure(self, tables: Tables) -> pd.DataFrame:
        """Return a row per debating room with the columns ROOMS.

        value: after the last round, the mean over the rows of the room (of a metric by party, over parties). It is NaN, with the
        reason, where one of these rows has no number: a mean of the rest would be of other agents.
        """
        estimates = rating_value(tables)
        measured = [(*key, *self._value(_only(estimates, key), key)) for key in room_keys(tables)]
        return pd.DataFrame(measured, columns=ROOMS).astype({"value": "float64"})

    def _value(self, tables: Tables, key: RoomKey) -> tuple[float, str]:
        rows = self._table_rows(tables) if self.source in COLUMNS else self._metric_rows(tables, key)
        values = rows["value"].to_numpy(dtype=float)
        if not len(values):
            return np.nan, NO_VALUE
        if np.isnan(values).any():
            reasons = rows.loc[np.isnan(values), "reason"].dropna().astype(str)
            return np.nan, next(iter(reasons), NO_VALUE)
        return float(values.mean()), ""

    def _table_rows(self, tables: Tables) -> pd.DataFrame:
        """Return the rows of a table as value and reason, of debating agents."""
        rows: pd.DataFrame = getattr(tables, self.source)
        rows = rows[rows["group"] != REFERENCE] if "group" in rows else rows
        if self.source == "probes":
            rows = rows[rows["probe"] == self.column]
        if self.source in LAST:
            rows = rows[rows["round"] == rows["round"].max()]
        column = "rating" if self.source == "probes" else self.column
        return pd.DataFrame({"value": rows[column], "reason": rows.get("reason")})

    def _metric_rows(self, tables: Tables, key: RoomKey) -> pd.DataFrame:
        """Return the rows of a metric for one room, after the last round, as value and reason."""
        metric = METRICS.find(self.source)
        if not applies(metric, tables):
            raise UserError(f"outcome {self.source} needs {metric.NEEDS}, and the runs of this claim have none")
        rows = metric.compute(tables)
        rows = rows[rows["group"] == key.group] if "group" in rows else rows
        rows = rows[rows["round"] == rows["round"].max()] if "round" in rows and len(rows) else rows
        return pd.DataFrame({"value": rows[self.column], "reason": rows.get("reason")})


def room_keys(tables: Tables) -> Iterator[RoomKey]:
    """Yield every debating room, in seating order."""
    seated = tables.agents[tables.agents["group"] != REFERENCE]
    for keys in seated[list(RoomKey._fields)].drop_duplicates().itertuples(index=False):
        yield RoomKey(str(keys.topic), int(keys.repetition), str(keys.group), str(keys.room))


def _only(tables: Tables, key: RoomKey) -> Tables:
    """Return the tables of one room, with the agents of its topic that do not debate."""
    agents = tables.agents
    beside = agents[(agents["group"] == REFERENCE) & (agents["topic"] == key.topic)]
    rooms = {key.room, *beside["room"]}
    frames = {field.name: getattr(tables, field.name) for field in fields(tables)}
    parts = {
        name: frame[frame["room"].isin(rooms)]
        for name, frame in frames.items()
        if isinstance(frame, pd.DataFrame) and "room" in frame
    }
    return replace(tables, **parts)


def find_outcome(name: str) -> Outcome:
    """Return the outcome of a name: METRIC, METRIC.COLUMN, TABLE.COLUMN or probes.QUESTION.

    A metric without a column is its column of the same name, else its first one. Errors: UserError with the names that exist.

    >>> find_outcome("polarisation"), find_outcome("attitudes.attitude").column
    (Outcome(source='polarisation', column='variance'), 'attitude')
    """
    source, dot, column = name.partition(".")
    if source in COLUMNS:
        known = COLUMNS[source]
    elif source in METRICS.names():
        known = tuple([label for label in metrics()[source].LABELS if label not in COUNTS])
    else:
        raise unknown_name("outcome", source, [*COLUMNS, *METRICS.names()])
    if not dot and known:
        column = source if source in known else known[0]
    if not column:
        raise UserError(f"outcome {name} needs a column, such as {source}.{known[0] if known else 'NAME'}")
    if known and column not in known:
        raise unknown_name(f"column of {source}", column, known)
    return Outcome(source, column)
