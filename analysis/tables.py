"""A record as tidy tables (`load`), and the tables on disk (`write_tables`): each as .parquet and .csv, the same bytes for the
same record.

Which number of a rating estimates use. The one place that decides it.

A model at temperature 0 answers with its likeliest point. One whose answers average 8.4 then always answers 8, and a little noise
looks like a move of .4 although nothing moved. Where a record has the distribution of answers, estimates use its mean
(`expected`). The rating itself stays the column `attitude` of the tables, and is what figures of the paper draw.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import FORECAST, load_topic, news_names
from parley.agents.traits import trait_names
from parley.llm.errors import UserError
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario_run import PARTIAL, RECORD

FURTHER = ("characters", "private", "probes", "interventions", "links", "heard")


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables of a run into a folder, further ones where there is anything in them; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    further = [name for name in FURTHER if len(getattr(tables, name))]
    return [
        path
        for name in ("agents", "utterances", "summaries", "attitudes", "calls", *further)
        for path in write_table(getattr(tables, name), folder / name)
    ]


def write_table(frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write one table as stem.parquet and stem.csv (every text quoted: a bare carriage return would end the row).

    Text columns have the type of text even where all is missing. In the .csv a missing text is an empty one.
    """
    paths = [stem.with_name(f"{stem.name}.parquet"), stem.with_name(f"{stem.name}.csv")]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(paths[0], index=False)
    paths[1].write_text(table_csv(frame), encoding="utf-8", newline="")
    return paths


def table_csv(frame: pd.DataFrame) -> str:
    """The .csv of a table as text."""
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


KEYS = ["topic", "group", "repetition", "seat", "party", "name"]
WHO = ["room", "agent"]
ROOM = ["room", "topic", "group", "repetition"]
TYPES = {"int": "int64", "float | None": "float64"}


@dataclass(frozen=True)
class Tables:
    """One run. Every table has its columns and their types even when it is empty.

    agents:     one row a seat: room, agent, topic, group, repetition, seat, party, persona, name, and of a network read from a
                file the node at which it sits, and the node's attributes (JSON)
    characters: one row an agent that was given something beside its persona: the keys, role, confirmation_bias, and a column a
                trait with its level (empty where none was given)
    utterances: one row a turn: the keys of the agent, round, iteration (from 1), text, reason (why there is none),
                raw (the reply as it came, where cleaning changed it), form (what was asked for: reply, opening, opinion, ...)
    summaries:  one row a summary of memory: the keys, round, iteration (before that turn), text, reason
    private:    one row a note that an agent made for itself: the keys, round, iteration (before that turn), purpose (the
                ability, reflection, importance), text, reason, raw, of (the line that is weighed)
    attitudes:  one row a rating: the keys, round, iteration (0: before the debate), probe, rating (on the probe's scale),
                attitude (0-10 on the topic's axis), expected (mean of the answer distribution, 0-10), probabilities (JSON),
                reason (why there is no rating), raw (the reply), how (the reader, and the way), asked (times),
                earlier (JSON: replies to the same question that could not be read), covered (the probability of all
                allowed answers together, of which `probabilities` are shares; empty where the model does not tell)
    probes:     one row a rating of a further probe (`also` in the scenario, and what somebody expects to answer at the end:
                `forecast`), with the columns of attitudes; attitude and expected are empty for a probe that measures no
                attitude toward the topic
    calls:      one row a call: room, round, agent, purpose, key, failure, prompt_tokens, completion_tokens, prompt_chars,
                sent_before (characters of the prompt's beginning that the agent had sent before), and what the backend noted:
                unread (lines), repeated (calls), cut (replies), uncounted (1: the server told no tokens, and the 0 of them says
                nothing), cached_tokens, thinking_tokens, drawn (from an archetype: not asked), checked and drifted (samples of
                archetypes that were renewed before it, and replaced)
    interventions: one row for what was done to some of a room: room, topic, group, repetition, round (before it), what (the
                kind), agents (JSON), text (what they heard, or the model they speak through), by, reason (why nothing was said)
    links:      one row a link of a network that appears or vanishes: room, round (before its turns; 0: the graph at the start),
                change (added, removed), source, target (agents: the source hears the target; an undirected link has
                two rows), weight (as in the graph's file; no rule goes by it)
    heard:      one row a turn that an agent of a network heard or was shown: room, round, agent, iteration (the utterance's)
    """

    header: events.Header
    agents: pd.DataFrame
    characters: pd.DataFrame
    utterances: pd.DataFrame
    summaries: pd.DataFrame
    private: pd.DataFrame
    attitudes: pd.DataFrame
    probes: pd.DataFrame
    calls: pd.DataFrame
    interventions: pd.DataFrame
    links: pd.DataFrame
    heard: pd.DataFrame
    finished: bool

    @property
    def groups(self) -> list[str]:
        """The debating groups in the order of seating."""
        return [group for group in self.agents["group"].unique() if group != "reference"]

    @property
    def topics(self) -> list[str]:
        return list(self.agents["topic"].unique())

    @property
    def names(self) -> dict[str, str]:
        """What parties are called, of those to whom their set of personas gives a name."""
        return {party: told["name"] for party, told in self.header.parties.items() if told["name"]}

    @property
    def beliefs(self) -> pd.DataFrame:
        """The ratings of items of news, whose axis is belief (agents.topic.news_names)."""
        return self.attitudes[self.attitudes["topic"].isin(news_names())]

    def title(self, topic: str) -> str:
        """The topic's heading; its slug when this version has no such topic."""
        try:
            return load_topic(topic).heading
        except UserError:
            return topic


NOTED = ("unread", "repeated", "cut", "uncounted", "cached_tokens", "thinking_tokens", "drawn", "checked", "drifted")


def load(run: Path) -> Tables:
    """Load a run folder or a record file. Errors: UserError when there is none."""
    return tables(read_lines(record_of(run)), str(run))


def tables(record: Iterable[events.Event], run: str = "this run") -> Tables:
    """The tables of a record's events. Errors: UserError when there is no header among them."""
    kinds: dict[type, list[Any]] = {kind: [] for kind in events.KINDS.values()}
    kinds[events.Unlinked] = kinds[events.Linked]  # one list, in the order of the record
    for event in record:
        kinds[type(event)].append(event)
    if not kinds[events.Header]:
        raise UserError(f"{run} has a record without a header: nothing was recorded yet")
    agents = _placed(_frame(kinds[events.Seated], events.Seated), kinds[events.Node])
    calls = _frame(kinds[events.Called], events.Called)
    notes = calls.pop("notes")
    for name in NOTED:
        calls[name] = pd.Series([noted.get(name, 0) for noted in notes], dtype="int64")
    header, rated = kinds[events.Header][-1], kinds[events.Rated]
    further = {FORECAST, *header.scenario.get("also", ())}
    utterances = _frame(kinds[events.Utterance], events.Utterance)
    return Tables(
        header,
        agents,
        _named(_characters(kinds[events.Endowed]), agents),
        _named(utterances, agents),
        _named(_frame(kinds[events.Summarised], events.Summarised), agents),
        _named(_frame(kinds[events.Private], events.Private), agents),
        _named(_ratings([event for event in rated if event.probe not in further]), agents),
        _named(_ratings([event for event in rated if event.probe in further]), agents),
        calls,
        _interventions(_frame(kinds[events.Intervened], events.Intervened), agents),
        _links(kinds[events.Linked]),
        _heard(kinds[events.Heard]),
        bool(kinds[events.Ended]),
    )


def _placed(agents: pd.DataFrame, nodes: Sequence[events.Node]) -> pd.DataFrame:
    """With the node at which an agent sits, and its attributes as JSON; empty where no graph was read from a file."""
    known = {(one.room, one.agent): one for one in nodes}
    found = [known.get(key) for key in zip(agents["room"], agents["agent"], strict=True)]
    agents["node"] = pd.Series([_storable(one.node) if one else None for one in found], dtype="object")
    told = [json.dumps(one.attributes) if one and one.attributes else None for one in found]
    agents["attributes"] = pd.Series(told, dtype="object")
    return agents


def _links(changes: Sequence[events.Linked | events.Unlinked]) -> pd.DataFrame:
    """In the order in which they happened: a link may vanish and appear in one round."""
    kinds = {events.Linked: "added", events.Unlinked: "removed"}
    rows = [
        (one.room, one.round, kinds[type(one)], *pair, weight)
        for one in changes
        for pair, weight in zip_longest(one.pairs, getattr(one, "weights", ()))
    ]
    types = {"room": "object", "round": "int64", "change": "object", "source": "int64", "target": "int64"}
    return _columns(rows, **types, weight="float64")


def _heard(heard: Sequence[events.Heard]) -> pd.DataFrame:
    rows = [(one.room, one.round, one.agent, iteration) for one in heard for iteration in one.iterations]
    return _columns(rows, room="object", round="int64", agent="int64", iteration="int64")


def _columns(rows: Sequence[tuple[Any, ...]], **types: str) -> pd.DataFrame:
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    named = zip(types.items(), columns, strict=True)
    return pd.DataFrame({name: pd.Series(list(values), dtype=kind) for (name, kind), values in named})


def record_of(run: Path) -> Path:
    """The record of a run folder: the finished one, else the partial one."""
    if run.is_dir():
        return run / RECORD if (run / RECORD).exists() else run / PARTIAL
    return run


def _characters(endowed: Sequence[events.Endowed]) -> pd.DataFrame:
    frame = _frame(endowed, events.Endowed)
    given = frame.pop("traits")
    frame["role"] = pd.Series([role or None for role in frame["role"]], dtype="object")
    for trait in trait_names():
        frame[trait] = pd.Series([traits.get(trait) for traits in given], dtype="object")
    return frame


def _ratings(rated: Sequence[events.Rated]) -> pd.DataFrame:
    frame = _frame(rated, events.Rated)
    for name in ("probabilities", "earlier"):
        frame[name] = pd.Series([json.dumps(list(found)) if found else None for found in frame[name]], dtype="object")
    return frame


def _frame(rows: Sequence[Any], kind: type) -> pd.DataFrame:
    columns = {field.name: list(map(attrgetter(field.name), rows)) for field in fields(kind)}
    types = {field.name: TYPES.get(str(field.type), "object") for field in fields(kind)}
    return pd.DataFrame(
        {
            name: pd.Series(values if types[name] != "object" else map(_storable, values), dtype=types[name])
            for name, values in columns.items()
        }
    )


def _storable(value: Any) -> Any:
    """Half a surrogate pair, which JSON may hold and no file can, becomes the replacement character."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _interventions(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    rooms = agents[ROOM].drop_duplicates("room")
    frame["agents"] = pd.Series([json.dumps(list(found)) for found in frame["agents"]], dtype="object")
    return frame.merge(rooms, on="room", how="left")[[*ROOM, *[name for name in frame.columns if name != "room"]]]


def _named(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """The frame with the keys of its agents in front."""
    joined = frame.merge(agents[WHO + KEYS], on=WHO, how="left", validate="many_to_one")
    return joined[["room", *KEYS, *[name for name in frame.columns if name != "room"]]]


EXPECTED, RATING = "expected", "rating"
BY = ["probe", "topic", "party"]


def rating_value(tables: Tables) -> Tables:
    """Return the tables with estimates in place of ratings: `attitude` is what to estimate with, `measure` says what it is.

    `expected` (mean of the answer distribution, 0-10) for a party on a topic whose every rating has one, else `rating`: a change
    from the one to the other within a line would be a change of measure.
    """
    ratings = tables.attitudes
    lacking = ratings["attitude"].notna() & ratings["expected"].isna()
    sure = ~lacking.groupby([ratings[name] for name in BY]).transform("any").astype(bool)
    values = ratings["attitude"].mask(sure & ratings["attitude"].notna(), ratings["expected"])
    return replace(tables, attitudes=ratings.assign(attitude=values, measure=np.where(sure, EXPECTED, RATING)))


def rating_value_note(tables: Tables) -> str:
    """Return one sentence on which number estimates use, for a report; empty where there are no ratings."""
    kinds = set(rating_value(tables).attitudes["measure"])
    if not kinds:
        return ""
    if kinds == {EXPECTED}:
        return (
            "Estimates use the mean of the distribution of answers, not the answer itself, which is rounded to a point."
        )
    if kinds == {RATING}:
        return "The distribution of answers is not known: estimates use the answers, which are rounded to a point."
    return "Estimates use the mean of the distribution of answers where it is known (column `measure` of the tables)."
