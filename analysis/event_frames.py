"""Events of a record as DataFrames, one function for each table of a run (tables.py explains their columns)."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import chain, zip_longest
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.traits import trait_names
from parley.model import events

KEYS = ["topic", "group", "repetition", "seat", "party", "name"]
NODE = "node"
WHO = ["room", "agent"]
ROOM = ["room", "topic", "group", "repetition"]
LATEST = 50_000
"""Events of a kind that are kept as objects before they become columns."""
SHARED = 10_000
"""Different texts of a kind of event that are kept once."""
TYPES = {"int": "int64", "float": "float64", "float | None": "float64"}


def event_frame(rows: Sequence[Any], kind: type) -> pd.DataFrame:
    """Return a row per event and a column per field of its class, with the field's type."""
    return _fields_frame(rows, kind) if rows else _no_events(kind).copy()


@cache
def _no_events(kind: type) -> pd.DataFrame:
    return _fields_frame((), kind)


def _fields_frame(rows: Iterable[Any], kind: type) -> pd.DataFrame:
    columns = {}
    for field in fields(kind):
        values, dtype = list(map(attrgetter(field.name), rows)), TYPES.get(str(field.type), "object")
        columns[field.name] = _column(values, dtype)
    return pd.DataFrame(columns)


class EventColumns(Sequence[Any]):
    """The events of one kind in a record, which may have millions of them: all but the latest are kept as columns.

    Texts that many events have (a room, a purpose) are kept once.
    """

    def __init__(self, kind: type):
        self.kind, self._parts, self._latest = kind, list[pd.DataFrame](), list[Any]()
        self._known: dict[str, str] = {}

    def append(self, event: Any) -> None:
        """Add an event."""
        self._latest.append(event)
        if len(self._latest) >= LATEST:
            part = _fields_frame(self._latest, self.kind)
            for name in part.select_dtypes("object"):
                part[name] = pd.Series([self._shared(value) for value in part[name]], dtype="object")
            self._parts.append(part)
            self._latest = []

    def _shared(self, value: Any) -> Any:
        """Return a text that an earlier event has, where few are different; other values as they are."""
        if not isinstance(value, str):
            return value
        if len(self._known) < SHARED:
            return self._known.setdefault(value, value)
        return self._known.get(value, value)

    def frame(self) -> pd.DataFrame:
        """Return a row per event, as `event_frame` does."""
        rows = event_frame(self._latest, self.kind)
        return pd.concat([*self._parts, rows], ignore_index=True) if self._parts else rows

    def __len__(self) -> int:
        return sum(map(len, self._parts)) + len(self._latest)

    def __iter__(self) -> Iterator[Any]:
        """Yield the events, made again from their columns."""
        for part in (*self._parts, event_frame(self._latest, self.kind)):
            columns = [_values(part[name]) for name in part]
            yield from (self.kind(*values) for values in zip(*columns, strict=True))

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def largest(self, name: str) -> int:
        """Return the largest value of a column of whole numbers; 0 without events."""
        latest = max((getattr(event, name) for event in self._latest), default=0)
        return max([latest, *[int(part[name].max()) for part in self._parts]])


def _values(column: pd.Series) -> list[Any]:
    """Return a column as values of events: None for a missing number."""
    if column.dtype == "float64":
        return [None if value != value else value for value in column.tolist()]  # only NaN differs from itself
    values: list[Any] = column.tolist()
    return values


def _column(values: Sequence[Any], dtype: str) -> pd.Series:
    return text_column(values) if dtype == "object" else pd.Series(values, dtype=dtype)


def text_column(values: Iterable[Any]) -> pd.Series:
    """Return a column of any values; in a text, half a surrogate pair, which JSON may hold and no file can, is replaced."""
    plain = [value if not isinstance(value, str) or value.isascii() else _storable(value) for value in values]
    return pd.Series(plain, dtype="object")


def _storable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def json_column(values: Iterable[Any]) -> pd.Series:
    """Return lists as texts in JSON; None for an empty one."""
    return text_column(json.dumps(list(items)) if items else None for items in values)


def with_keys(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the keys of its agents in front; on a network of the user, the node is one of them."""
    keys = [*KEYS, NODE] if agents[NODE].notna().any() else KEYS
    if not len(frame):
        return _no_rows(tuple(frame.dtypes.items()), tuple(agents[keys].dtypes.items())).copy()
    joined = frame.merge(agents[WHO + keys], on=WHO, how="left", validate="many_to_one")
    return joined[["room", *keys, *[name for name in frame.columns if name != "room"]]]


@cache
def _no_rows(columns: tuple[tuple[str, Any], ...], keys: tuple[tuple[str, Any], ...]) -> pd.DataFrame:
    """Return a table without rows, of these columns and types: most tables of a run are such."""
    kinds = {"room": dict(columns)["room"], **dict(keys), **{name: kind for name, kind in columns if name != "room"}}
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in kinds.items()})


def with_nodes(agents: pd.DataFrame, nodes: Sequence[events.Node]) -> pd.DataFrame:
    """Add each agent's node and its attributes as JSON; empty unless a graph was read from a file."""
    by_seat = {(node.room, node.agent): node for node in nodes}
    seated = [by_seat.get(key) for key in zip(agents["room"], agents["agent"], strict=True)]
    agents["node"] = text_column(node.node if node else None for node in seated)
    agents["attributes"] = text_column(
        json.dumps(node.attributes) if node and node.attributes else None for node in seated
    )
    return agents


def agent_models(agents: pd.DataFrame, header: events.Header, own_models: Sequence[events.OwnModel]) -> Iterator[str]:
    """Yield the model of each agent: that of its seat, its own, that of its party, or that of all others."""
    named = dict(entry.split("=", 1) for entry in header.scenario.get("llms", ()))
    by_agent = {(own_model.room, own_model.agent): own_model.llm for own_model in own_models}
    for row in agents[["room", "agent", "seat", "party"]].itertuples(index=False):
        models = named.get(row.seat), by_agent.get((row.room, row.agent)), named.get(row.party)
        yield next(filter(None, models), header.scenario["llm"])


def character_frame(frame: pd.DataFrame) -> pd.DataFrame:
    given = frame.pop("traits")
    for name in ("role", "belief"):
        frame[name] = text_column(value or None for value in frame[name])
    for trait in trait_names():
        frame[trait] = text_column(traits.get(trait) for traits in given)
    return frame


def rating_frame(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("probabilities", "earlier"):
        frame[name] = json_column(frame[name])
    return frame


def utterance_frame(frame: pd.DataFrame) -> pd.DataFrame:
    frame["earlier"] = json_column(frame["earlier"])
    return frame


def intervention_frame(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    rooms = agents[ROOM].drop_duplicates("room")
    frame["agents"] = text_column(json.dumps(list(numbers)) for numbers in frame["agents"])
    return frame.merge(rooms, on="room", how="left")[[*ROOM, *[name for name in frame.columns if name != "room"]]]


def link_frame(changes: Sequence[events.Linked | events.Unlinked], signed: Sequence[events.Signed]) -> pd.DataFrame:
    """In the order in which they happened: a link may vanish and appear in one round."""
    kinds = {events.Linked: "added", events.Unlinked: "removed"}
    signs = {
        (event.room, event.round, tuple(pair)): sign
        for event in signed
        for pair, sign in zip(event.pairs, event.signs, strict=True)
    }
    rows = [
        (
            change.room,
            change.round,
            kinds[type(change)],
            *pair,
            weight,
            signs.get((change.room, change.round, tuple(pair))),
        )
        for change in changes
        for pair, weight in zip_longest(change.pairs, getattr(change, "weights", ()))
    ]
    types = {"room": "object", "round": "int64", "change": "object", "source": "int64", "target": "int64"}
    return typed_table(rows, **types, weight="float64", sign="float64")


def heard_frame(heard: Sequence[events.Heard], shown: Sequence[events.Shown]) -> pd.DataFrame:
    """What was heard, and of feeds the posts in the order in which they are remembered: the first one last."""
    rooms: list[str] = []
    rounds, agents, turns = array("q"), array("q"), array("q")
    for event, heard_turns in chain(
        ((event, event.iterations) for event in heard), ((event, event.posts[::-1]) for event in shown)
    ):
        rooms += [event.room] * len(heard_turns)
        rounds.extend([event.round] * len(heard_turns))
        agents.extend([event.agent] * len(heard_turns))
        turns.extend(heard_turns)
    numbers = {"round": rounds, "agent": agents, "iteration": turns}
    return pd.DataFrame({"room": text_column(rooms)} | {name: np.array(of, np.int64) for name, of in numbers.items()})


def table_frame(gathered: Sequence[events.Gathered]) -> pd.DataFrame:
    """Who sits at which table of a place in which stage: a row for each person and table."""
    rows = [
        (event.room, event.round, event.stage, event.place, event.table, member)
        for event in gathered
        for member in event.members
    ]
    numbers = dict.fromkeys(("round", "stage"), "int64")
    return typed_table(rows, room="object", **numbers, place="object", table="int64", agent="int64")


def act_frame(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("offered", "probabilities", "options", "target_probabilities", "earlier"):
        frame[name] = json_column(frame[name])
    frame["target"] = frame["target"].astype("Int64")
    return frame


def insight_frame(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("parents", "lines"):
        frame[name] = text_column(json.dumps(list(values), ensure_ascii=False) for values in frame[name])
    frame["depth"] = frame["depth"].astype("Int64")
    return frame


def exposure_frame(shown: Sequence[events.Shown]) -> pd.DataFrame:
    rows = [
        (event.room, event.round, event.agent, place, *post, event.source)
        for event in shown
        for place, post in enumerate(zip(event.posts, event.scores, event.carriers, strict=True), 1)
    ]
    numbers = dict.fromkeys(("round", "agent", "place", "iteration", "score", "carrier"), "int64")
    return typed_table(rows, room="object", **numbers, source="object")


def mean_answer(shares: str | None, low: int = 1) -> float:
    """Return the mean answer of a distribution (JSON) over the points from `low` on; NaN without one."""
    if not isinstance(shares, str):
        return np.nan
    values = np.array(json.loads(shares))
    return float(values @ (low + np.arange(len(values))) / values.sum())


def typed_table(rows: Sequence[tuple[Any, ...]], **types: str) -> pd.DataFrame:
    columns = enumerate(types.items())
    return pd.DataFrame({name: _column([row[place] for row in rows], dtype) for place, (name, dtype) in columns})
