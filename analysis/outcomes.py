"""The outcome of a run as a number for each room: a column of a metric, or the mean of a column of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.metrics import METRICS, applies
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.run_tables import run_tables
from parley.analysis.tables import Tables, load
from parley.analysis.tables import tables as make_tables
from parley.llm.errors import UserError, unknown_name
from parley.llm.studies import declared_parts, study_of
from parley.model.events import SCHEMA, Header
from parley.model.run_plan import rehearse_run
from parley.model.scenario import Scenario
from parley.model.titles import header_parties

RATED: Mapping[str, tuple[str, ...]] = {"attitudes": ("attitude",), "probes": ()}
"""Tables of every run of which a column can be an outcome; of `probes`, the name of a further question."""
OF_REPLIES = frozenset({"graded", "seeded"})
"""Tables that have rows only if models reply in a certain way, so that no rehearsal shows whether a run has them."""
COUNTS = frozenset({"rooms", "reason"})
ROOMS = ["topic", "repetition", "group", "room", "people", "seats", "value", "reason", "start"]
PLUS = "+"
"""Between the personas of a room."""
NO_VALUE = "this room has no number"


def all_rounds() -> dict[str, tuple[str, ...]]:
    """Return the tables of studies of which a column can be an outcome: all rounds count, of others only the last one."""
    return {name: (table.outcome,) for name, table in run_tables().items() if table.outcome}


def outcome_columns() -> dict[str, tuple[str, ...]]:
    """Return all tables of which a column can be an outcome, with these columns."""
    return {**RATED, **all_rounds()}


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

    @property
    def label(self) -> str:
        """Its name with the column."""
        return f"{self.source}.{self.column}"

    @property
    def title(self) -> str:
        """Its name on a figure."""
        if self.source in outcome_columns():
            return self.label
        return str(METRICS.find(self.source).LABELS[self.column])

    @property
    def about(self) -> str:
        """Of what it is, in words."""
        if self.source in all_rounds():
            return "the mean over all rounds of a room"
        if self.source in RATED:
            return "the mean answer of the agents of a room after the last round"
        module = METRICS.find(self.source)
        label = module.LABELS[self.column]
        return f"the {label} of a room after the last round, of the metric {module.TITLE}"

    def check(self, scenario: Scenario) -> None:
        """Errors: UserError where a run of this scenario cannot have the outcome."""
        study = declared_parts("tables")[self.source].study if self.source in all_rounds() else None
        if study and study_of(type(scenario.environment)) != study:
            name = scenario.environment_spec.name
            raise UserError(
                f"outcome {self.label} exists only in the environment of the study {study.name}, but one condition "
                f"has environment={name}"
            )
        asked_probes = {name for probe in scenario.surveys.also for name in (probe, probe.rpartition(":")[0])}
        if self.source == "probes" and self.column not in asked_probes:
            raise UserError(
                f"outcome {self.label} is not asked in any survey of one condition: add also={self.column} to settings"
            )
        needed = "" if self.source in outcome_columns() else getattr(METRICS.find(self.source), "NEEDS", "")
        if needed and needed not in OF_REPLIES:
            header = Header(SCHEMA, scenario.to_dict(), (), {}, {}, "", "", {}, parties=header_parties(scenario))
            self._check_applies(make_tables([header, *rehearse_run(scenario)]))

    def measure(self, tables: Tables) -> pd.DataFrame:
        """Return a row per debating room with the columns ROOMS.

        people: the personas of the room (`us/enhanced second 003+...`). seats: how many agents. start: the value at the first
        survey (NaN: unknown, or the outcome is not of a survey). value: after the last round, the mean over the rows of
        the room (of a metric by party, over parties). It is NaN, with the reason, where one of these rows has no number, and
        for a metric of ratings where one rating of the first or last survey is missing: the rest would be other agents.
        """
        keys, people = list(room_keys(tables)), _people(tables)
        ends = self._rows(_each_room_apart(tables, keys))
        last, first = (
            {str(room): group_rows for room, group_rows in rows.groupby("group", sort=False)} for rows in ends
        )
        seats = tables.agents.groupby("room").size()
        rows = [
            (*key, people[key.room], int(seats[key.room]), *_value(last.get(key.room)), _value(first.get(key.room))[0])
            for key in keys
        ]
        return pd.DataFrame(rows, columns=ROOMS).astype({"value": "float64", "start": "float64"})

    def _rows(self, tables: Tables) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what is measured after the last round, and at the first survey: topic, group (the room), value, reason."""
        rows = self._table_rows(tables) if self.source in outcome_columns() else self._metric_rows(tables)
        if "round" not in rows or rows.empty or self.source in all_rounds():
            return self._measured(rows, tables), self._measured(rows.iloc[:0], tables)
        rounds = rows.groupby(["topic", "group"])["round"]
        last, first = rounds.transform("max"), rounds.transform("min")
        return self._measured(rows[rows["round"] == last], tables), self._measured(
            rows[(rows["round"] == first) & (first < last)], tables
        )

    def _measured(self, rows: pd.DataFrame, tables: Tables) -> pd.DataFrame:
        """Return topic, group, value and reason of some rows; NaN where a rating of the room is missing."""
        column = "rating" if self.source == "probes" else self.column
        measured = rows[["topic", "group"]].assign(value=rows[column], reason=rows.get("reason"))
        if "missing" not in rows:
            return measured
        lost = unread_ratings(tables.attitudes)
        own_reasons = [_own_reason(text, column) if isinstance(text, str) else text for text in measured["reason"]]
        reasons = [lost.get(str(group), reason) for group, reason in zip(measured["group"], own_reasons, strict=True)]
        return measured.assign(value=measured["value"].where(~measured["group"].isin(lost)), reason=reasons)

    def _table_rows(self, tables: Tables) -> pd.DataFrame:
        """Return the rows of a table, of debating agents."""
        rows: pd.DataFrame = getattr(tables, self.source)
        if "group" not in rows:
            rows = rows.merge(tables.agents[["room", "agent", "topic", "group"]], on=["room", "agent"])
        rows = rows[rows["group"] != REFERENCE]
        return rows[rows["probe"] == self.column] if self.source == "probes" else rows

    def _metric_rows(self, tables: Tables) -> pd.DataFrame:
        """Return the rows of a metric. Errors: UserError where the runs lack the table that it needs."""
        self._check_applies(tables)
        rows: pd.DataFrame = METRICS.find(self.source).compute(tables)
        return rows

    def _check_applies(self, tables: Tables) -> None:
        metric = METRICS.find(self.source)
        if not applies(metric, tables):
            needed = str(metric.NEEDS).replace("_", " ")
            raise UserError(
                f"outcome {self.label} needs {needed}, which a run of one condition does not have: name another outcome"
            )


@dataclass(frozen=True)
class RoomMeasure:
    """Measures a finished run folder by an outcome, also in another process."""

    outcome: Outcome

    def __call__(self, run: Path) -> pd.DataFrame:
        return self.outcome.measure(load(run))


def _value(rows: pd.DataFrame | None) -> tuple[float, str]:
    """Return the value of a room, or NaN and the reason. rows: what is measured in it (None: nothing)."""
    if rows is None:
        return np.nan, NO_VALUE
    values = rows["value"].to_numpy(dtype=float)
    if np.isnan(values).any():
        reasons = rows.loc[np.isnan(values), "reason"].dropna().astype(str)
        return np.nan, next(iter(reasons), NO_VALUE)
    return float(values.mean()), ""


def unread_ratings(attitudes: pd.DataFrame) -> dict[str, str]:
    """Return why a rating is missing in the first or last survey, by group; groups whose ratings are all there are left out."""
    rounds = attitudes.groupby("group")["round"]
    ends = attitudes["round"].eq(rounds.transform("min")) | attitudes["round"].eq(rounds.transform("max"))
    lost = attitudes[ends & attitudes["attitude"].isna()]
    first = lost.groupby("group", sort=False)["reason"].agg(lambda reasons: reasons.mode().iat[0])
    return {str(group): f"a rating is missing ({reason.replace('_', ' ')})" for group, reason in first.items()}


def _own_reason(text: str, column: str) -> str:
    """Return the part of the reasons of a row that is about one column, else all of them.

    >>> _own_reason("fewer than 5 rooms; variance: fewer than 2 rated; change: fewer than 2 rated", "variance")
    'fewer than 2 rated'
    """
    parts = dict(reason.partition(": ")[::2] for reason in text.split("; "))
    return parts.get(column) or text


def room_keys(tables: Tables) -> Iterator[RoomKey]:
    """Yield every debating room, in seating order."""
    seated = tables.agents[tables.agents["group"] != REFERENCE]
    for keys in seated[list(RoomKey._fields)].drop_duplicates().itertuples(index=False):
        yield RoomKey(str(keys.topic), int(keys.repetition), str(keys.group), str(keys.room))


def _people(tables: Tables) -> dict[str, str]:
    """Return the personas of each room with their set, sorted, each once."""
    agents, scenario = tables.agents, tables.header.scenario
    people = f"{scenario['society']}/{scenario['personas']} " + agents["party"] + " " + agents["persona"]
    return {str(room): PLUS.join(sorted(set(names))) for room, names in people.groupby(agents["room"], sort=False)}


def _each_room_apart(tables: Tables, keys: Sequence[RoomKey]) -> Tables:
    """Return the tables with each debating room as a group with its name, so that a metric has a row for each room."""
    rooms = {key.room for key in keys}
    frames = {field.name: getattr(tables, field.name) for field in fields(tables)}
    parts = {
        name: frame.assign(group=frame["group"].mask(frame["room"].isin(rooms), frame["room"]))
        for name, frame in frames.items()
        if isinstance(frame, pd.DataFrame) and {"room", "group"} <= set(frame.columns) and len(frame)
    }
    return replace(tables, **parts)


def find_outcome(name: str) -> Outcome:
    """Return the outcome of a name: METRIC, METRIC.COLUMN, TABLE.COLUMN or probes.QUESTION.

    A metric without a column is its column of the same name, else its first one. Errors: UserError with the names that exist.

    >>> find_outcome("polarisation"), find_outcome("attitudes.attitude").column
    (Outcome(source='polarisation', column='variance'), 'attitude')
    """
    source, dot, column = name.partition(".")
    columns = outcome_columns()
    if source in columns:
        source_columns = columns[source]
    elif source in METRICS.names():
        source_columns = tuple([label for label in METRICS.find(source).LABELS if label not in COUNTS])
    else:
        raise unknown_name("outcome", source, [*columns, *METRICS.names()])
    if not dot and source_columns:
        column = source if source in source_columns else source_columns[0]
    if not column:
        raise UserError(
            f"outcome {name} needs a column, such as {source}.{source_columns[0] if source_columns else 'NAME'}"
        )
    if source_columns and column not in source_columns:
        raise unknown_name(f"column of {source}", column, source_columns)
    return Outcome(source, column)
