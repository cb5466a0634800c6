"""A record as tidy tables (`load`), and the tables on disk as .parquet and .csv (`write_tables`).

`rating_value` decides which number of a rating the estimates use. A model at temperature 0 answers with its likeliest point. If
its answers average 8.4, it always answers 8, and a little noise looks like a move of .4 although nothing moved. When a record
has the distribution of answers, estimates use its mean (`expected`). The rating itself stays in the column `attitude` of the
tables, and is what the paper's figures show.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.persona import persona_set
from parley.agents.society import PartyNames, Society, load_society, party_name
from parley.agents.topic import EMOTIONS, FORECAST, is_news, load_topic
from parley.agents.traits import trait_names
from parley.environments.base import UNDER
from parley.environments.story import RETELLING
from parley.llm.backends.oracle.phrases import TopicBank, topic_bank
from parley.llm.errors import UserError
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario_run import PARTIAL, RECORD

FURTHER = (
    "characters",
    "private",
    "probes",
    "interventions",
    "links",
    "heard",
    "acts",
    "exposures",
    "decisions",
    "moves",
    "expectations",
    "outcomes",
    "versions",
    "insights",
    "interviews",
)


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables of a run into a folder, those of `FURTHER` only if they have rows; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    further = [name for name in FURTHER if len(getattr(tables, name))]
    names = ("agents", "utterances", "summaries", "attitudes", "calls", *further)
    return [path for name in names for path in write_table(getattr(tables, name), folder / name)]


def write_table(frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write one table as stem.parquet and stem.csv (every text quoted: a bare carriage return would end the row).

    A text column has the type of text also when all of it is missing. In the .csv a missing text is empty.
    """
    paths = [stem.with_name(f"{stem.name}.parquet"), stem.with_name(f"{stem.name}.csv")]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(paths[0], index=False)
    paths[1].write_text(table_csv(frame), encoding="utf-8", newline="")
    return paths


def table_csv(frame: pd.DataFrame) -> str:
    """Return the .csv of a table as text."""
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


KEYS = ["topic", "group", "repetition", "seat", "party", "name"]
NODE = "node"
WHO = ["room", "agent"]
ROOM = ["room", "topic", "group", "repetition"]
TYPES = {"int": "int64", "float": "float64", "float | None": "float64"}


@dataclass(frozen=True)
class Tables:
    """One run. Every table has its columns and their types, also when it is empty. On a network of the user, the keys of an agent
    include its node.

    agents:     one row per seat: room, agent, topic, group, repetition, seat, party, persona, name, and of a network read from a
                file the node at which it sits, and the node's attributes (JSON)
    characters: one row per agent with something besides its persona: the keys, role, confirmation_bias, belief (believer or
                susceptible, where prompts say what agents think of an item of news), and a column per trait with its level
                (empty without one)
    utterances: one row per turn: the keys of the agent, round, iteration (from 1), text, reason (why there is none),
                raw (the reply before cleaning, if cleaning changed it), form (what was asked for: reply, opening, opinion, ...)
    summaries:  one row per summary of memory: the keys, round, iteration (before that turn), text, reason
    private:    one row per note that an agent made for itself: the keys, round, iteration (before that turn), purpose (the
                ability, reflection, importance), text, reason, raw, of (the line that is weighed)
    attitudes:  one row per rating: the keys, round, iteration (0: before the debate), probe, rating (on the probe's scale),
                attitude (0-10 on the topic's axis), expected (mean of the answer distribution, 0-10), probabilities (JSON),
                reason (why there is no rating), raw (the reply), how (the reader, and the way), asked (times),
                earlier (JSON: replies to the same question that could not be read), covered (the probability of all
                allowed answers together, of which `probabilities` are shares; empty when the model does not say)
    probes:     one row per rating of a further probe (`also` in the scenario, and `forecast`, the answer that an agent expects
                to give at the end), with the columns of attitudes; attitude and expected are empty for a probe that measures no
                attitude toward the topic
    calls:      one row per call: room, round, agent, purpose, key, failure, prompt_tokens, completion_tokens, prompt_chars,
                sent_before (characters of the prompt's beginning that the agent had sent before), and notes of the backend:
                unread (lines), repeated (calls), cut (replies), uncounted (1: the server reported no tokens, and 0 tokens mean
                nothing), cached_tokens, thinking_tokens, drawn (from an archetype: not asked), checked and drifted (samples of
                archetypes that were renewed before it, and replaced)
    interventions: one row per intervention in a room: room, topic, group, repetition, round (before it), what (the
                kind), agents (JSON), text (what they heard, or the model they speak through), by, reason (why nothing was said)
    links:      one row per link of a network that appears or vanishes: room, round (before its turns; 0: the graph at the start),
                change (added, removed), source, target (agents: the source hears the target; an undirected link has
                two rows), weight and sign (as in the user's graph; no rule uses them)
    heard:      one row per turn that an agent of a network heard or was shown: room, round, agent, iteration (the utterance's)
    acts:       one row per act of a person on a platform: the keys, round, iteration (of the written text, if there is one), act,
                reason (why there is none, or why it had no effect), target (the post, by its iteration), query, seeded (the vote
                from outside that the written post got), offered (JSON: the acts that were possible), probabilities (JSON: of
                each), covered, options (JSON: the posts that it could be about), target_probabilities (JSON), raw, target_raw,
                how, asked, earlier (JSON)
    exposures:  one row per post that a person on a platform was shown: room, round, agent, place (1 is the top), iteration (the
                post), score (that was shown), carrier (the agent through whom it came), source (feed, search)
    decisions:  one row per person and period where people choose between A and B one after another: the keys, round (the period),
                iteration, position (in the order of choosing, from 1), state (the right option), prior (P(A) before all), belief
                (P(A) for a Bayesian who sees the acts before), precision (of its signal), cost (of this precision, for a
                planner), signal, act, reason (why there is none), probability (of A, if the model tells it), covered, raw, how,
                asked, earlier (JSON), planner_reason (why a planner could not be read), planner_raw
    moves:      one row per move of a game: the keys, round, iteration, move (its kind), value (the number; 10 for A and 0 for B),
                reason (why there is none), probabilities (JSON: of the allowed answers), covered, raw, how, asked, earlier (JSON)
    expectations: one row per expectation before a game: the keys, round, about (self or other), move (the kind of the expected
                move), ahead (its round), value (0 to 10), expected (mean of the answer distribution), and the rest as in moves
    outcomes:   one row per player and round of a game: the keys, round, points (empty where a move is missing, and while a
                negotiation goes on), outcome (how the game went, in its last round; empty if that is unknown), package (that was
                agreed), ended (1 in the last round)
    versions:   one row per version of a story that an agent got on a day: the keys, role, round (the day; 0: who read the true
                report before the first one), received (the version, by the iteration in which it was written; 0: the report),
                source (the agent from whom it came; 0: the report itself), iteration (of the version that the agent made of it;
                empty where it writes none), depth (retellings since the report), text, reason (why there is no text)
    insights:   one row per insight that cites memories: the keys, round, iteration (before that turn), number (of the agent's
                insights, from 1), text, depth (1: it cites lines alone), reason (why there is no depth), parents (JSON: cited
                insights by number), lines (JSON: cited lines as the agent remembers them)
    interviews: one row per question of an interview and condition of the memory: the keys, round, question, about (the
                kind of its right answer), condition, asked (its text), truth (the right answer), text (the answer), reason, raw
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
    acts: pd.DataFrame
    exposures: pd.DataFrame
    decisions: pd.DataFrame
    moves: pd.DataFrame
    expectations: pd.DataFrame
    outcomes: pd.DataFrame
    versions: pd.DataFrame
    insights: pd.DataFrame
    interviews: pd.DataFrame
    finished: bool

    @property
    def groups(self) -> list[str]:
        """The debating groups in the order of seating."""
        return [group for group in self.agents["group"].unique() if group != "reference"]

    @property
    def topics(self) -> list[str]:
        return list(self.agents["topic"].unique())

    @property
    def society(self) -> Society:
        """The society of the run. Errors: UserError if it is not on this machine."""
        return load_society(str(self.header.scenario["society"]))

    @property
    def personas(self) -> Path:
        """The folder of the set of personas. Errors: UserError if it is not on this machine."""
        return persona_set(self.society.qualified(str(self.header.scenario["personas"])))

    @property
    def names(self) -> PartyNames:
        """The names of parties, of those that the society names."""
        return self.header.names

    def plural(self, party: str) -> str:
        """What several people of a party are called."""
        return self.names.plurals.get(party) or f"{party_name(party, self.names)}s"

    @property
    def seeded(self) -> pd.DataFrame:
        """The posts that got a vote from outside at once."""
        return self.acts[self.acts["seeded"] != 0]

    @property
    def conditions(self) -> pd.DataFrame:
        """The agents of groups of the same people under several conditions."""
        return self.agents[self.agents["group"].str.contains(UNDER, regex=False)]

    @property
    def beliefs(self) -> pd.DataFrame:
        """The ratings of items of news, whose axis is belief (agents/news.py)."""
        return self.attitudes[self.attitudes["topic"].map(is_news).astype(bool)]

    @property
    def emotions(self) -> pd.DataFrame:
        """The ratings of emotion with the column `value`: the mean of the answer distribution if every rating of that emotion
        has one, else the rating. Both are in points of the question's scale.
        """
        felt = self.probes[self.probes["probe"].isin(EMOTIONS)]
        without = felt["rating"].notna() & felt["probabilities"].isna()
        known = ~without.groupby(felt["probe"]).transform("any").astype(bool) & felt["rating"].notna()
        return felt.assign(value=felt["rating"].mask(known, felt["probabilities"].map(_mean_answer)))

    @property
    def emotions_on_ties(self) -> pd.DataFrame:
        """The ratings of emotion of a run that says who heard which line: on a network or a platform."""
        return self.emotions if len(self.heard) else self.emotions.iloc[:0]

    @property
    def graded(self) -> pd.DataFrame:
        """The lines of known grade (0-10 on the topic's axis): those with a sentence of our own speakers. Versions of a story,
        which say nothing of their author, are left out.
        """
        said = self.utterances[self.utterances["form"] != RETELLING]
        banks = {slug: _bank(str(slug)) for slug in said["topic"].unique()}
        grades = [
            bank.grade(text) if isinstance(text, str) and (bank := banks[slug]) else None
            for slug, text in zip(said["topic"], said["text"], strict=True)
        ]
        return said[["room", "iteration"]].assign(grade=pd.Series(grades, said.index, "float64")).dropna()

    @property
    def compared_beliefs(self) -> pd.DataFrame:
        """The ratings of items of news, where a run has several items; else none."""
        return self.beliefs if self.beliefs["topic"].nunique() > 1 else self.beliefs.iloc[:0]

    @property
    def temperaments(self) -> pd.DataFrame:
        """The agents with a temperament in rooms on items of news."""
        with_traits = self.characters[self.characters[trait_names()].notna().any(axis=1)]
        return with_traits[with_traits["topic"].isin(set(self.beliefs["topic"]))]

    def title(self, topic: str) -> str:
        """The topic's heading; its slug when this version has no such topic."""
        try:
            return load_topic(topic).heading
        except UserError:
            return topic


def _bank(slug: str) -> TopicBank | None:
    """Return the sentences of a topic of which the grade is known; None for a topic without any, and for a question."""
    try:
        return topic_bank(load_topic(slug).root)
    except UserError:
        return None


NOTED = ("unread", "repeated", "cut", "uncounted", "cached_tokens", "thinking_tokens", "drawn", "checked", "drifted")


def load(run: Path) -> Tables:
    """Load a run folder or a record file. Errors: UserError when there is none."""
    return tables(read_lines(record_of(run)), str(run))


def tables(record: Iterable[events.Event], run: str = "this run") -> Tables:
    """Return the tables of a record's events. Errors: UserError without a header among them."""
    kinds: dict[type, list[Any]] = {kind: [] for kind in events.KINDS.values()}
    kinds[events.Unlinked] = kinds[events.Linked]  # one list, in the order of the record
    for event in record:
        kinds[type(event)].append(event)
    if not kinds[events.Header]:
        raise UserError(f"{run} has no results yet: its record is empty")
    header, frames = kinds[events.Header][-1], {kind: partial(_frame, kinds[kind], kind) for kind in kinds}
    agents, calls = _with_nodes(frames[events.Seated](), kinds[events.Node]), frames[events.Called]()
    agents["llm"] = _column(_models(agents, header, kinds[events.OwnModel]))
    notes = calls.pop("notes")
    for name in NOTED:
        calls[name] = pd.Series([note.get(name, 0) for note in notes], dtype="int64")
    ratings = _with_keys(_ratings(frames[events.Rated]()), agents)
    further = ratings["probe"].isin({FORECAST, *header.scenario.get("also", ())})
    return Tables(
        header=header,
        agents=agents,
        characters=_with_keys(_characters(frames[events.Endowed]()), agents),
        utterances=_with_keys(frames[events.Utterance](), agents),
        summaries=_with_keys(frames[events.Summarised](), agents),
        private=_with_keys(frames[events.Private](), agents),
        attitudes=ratings[~further].reset_index(drop=True),
        probes=ratings[further].reset_index(drop=True),
        calls=calls,
        interventions=_interventions(frames[events.Intervened](), agents),
        links=_links(kinds[events.Linked], kinds[events.Signed]),
        heard=_heard(kinds[events.Heard], kinds[events.Shown]),
        acts=_with_keys(_acts(frames[events.Acted]()), agents),
        exposures=_exposures(kinds[events.Shown]),
        decisions=_with_keys(_decisions(frames[events.Decided](), frames[events.StateDrawn]()), agents),
        moves=_with_keys(_moves(frames[events.Moved]()), agents),
        expectations=_with_keys(_expectations(frames[events.Expected]()), agents),
        outcomes=_with_keys(_outcomes(kinds[events.Settled]), agents),
        versions=_versions(kinds[events.Received], kinds[events.Utterance], kinds[events.Endowed], agents),
        insights=_with_keys(_insights(frames[events.Concluded]()), agents),
        interviews=_with_keys(frames[events.Interviewed](), agents),
        finished=bool(kinds[events.Ended]),
    )


def _frame(rows: Sequence[Any], kind: type) -> pd.DataFrame:
    """Return a row per event and a column per field of its class, with the field's type."""
    columns = {}
    for field in fields(kind):
        values, dtype = [getattr(row, field.name) for row in rows], TYPES.get(str(field.type), "object")
        columns[field.name] = pd.Series(map(_storable, values) if dtype == "object" else values, dtype=dtype)
    return pd.DataFrame(columns)


def _storable(value: Any) -> Any:
    """Replace half a surrogate pair, which JSON may hold and no file can, by the replacement character."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _column(values: Iterable[Any]) -> pd.Series:
    return pd.Series(list(values), dtype="object")


def _with_keys(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the keys of its agents in front; on a network of the user, the node is one of them."""
    keys = [*KEYS, NODE] if agents[NODE].notna().any() else KEYS
    joined = frame.merge(agents[WHO + keys], on=WHO, how="left", validate="many_to_one")
    return joined[["room", *keys, *[name for name in frame.columns if name != "room"]]]


def _with_nodes(agents: pd.DataFrame, nodes: Sequence[events.Node]) -> pd.DataFrame:
    """Add each agent's node and its attributes as JSON; empty unless a graph was read from a file."""
    by_seat = {(node.room, node.agent): node for node in nodes}
    seated = [by_seat.get(key) for key in zip(agents["room"], agents["agent"], strict=True)]
    agents["node"] = _column(_storable(node.node) if node else None for node in seated)
    agents["attributes"] = _column(json.dumps(node.attributes) if node and node.attributes else None for node in seated)
    return agents


def _models(agents: pd.DataFrame, header: events.Header, own: Sequence[events.OwnModel]) -> Iterator[str]:
    """Yield the model of each agent: that of its seat, its own, that of its party, or that of all others."""
    named = dict(entry.split("=", 1) for entry in header.scenario.get("llms", ()))
    by_agent = {(one.room, one.agent): one.llm for one in own}
    for row in agents[["room", "agent", "seat", "party"]].itertuples(index=False):
        models = named.get(row.seat), by_agent.get((row.room, row.agent)), named.get(row.party)
        yield _storable(next(filter(None, models), header.scenario["llm"]))


def _characters(frame: pd.DataFrame) -> pd.DataFrame:
    given = frame.pop("traits")
    for name in ("role", "belief"):
        frame[name] = _column(value or None for value in frame[name])
    for trait in trait_names():
        frame[trait] = _column(traits.get(trait) for traits in given)
    return frame


def _ratings(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("probabilities", "earlier"):
        frame[name] = _column(json.dumps(list(values)) if values else None for values in frame[name])
    return frame


def _interventions(frame: pd.DataFrame, agents: pd.DataFrame) -> pd.DataFrame:
    rooms = agents[ROOM].drop_duplicates("room")
    frame["agents"] = _column(json.dumps(list(numbers)) for numbers in frame["agents"])
    return frame.merge(rooms, on="room", how="left")[[*ROOM, *[name for name in frame.columns if name != "room"]]]


def _links(changes: Sequence[events.Linked | events.Unlinked], signed: Sequence[events.Signed]) -> pd.DataFrame:
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
    return _table(rows, **types, weight="float64", sign="float64")


def _heard(heard: Sequence[events.Heard], shown: Sequence[events.Shown]) -> pd.DataFrame:
    """What was heard, and of feeds the posts in the order in which they are remembered: the first one last."""
    rows = [(event.room, event.round, event.agent, iteration) for event in heard for iteration in event.iterations]
    rows += [(event.room, event.round, event.agent, post) for event in shown for post in reversed(event.posts)]
    return _table(rows, room="object", round="int64", agent="int64", iteration="int64")


def _acts(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("offered", "probabilities", "options", "target_probabilities", "earlier"):
        frame[name] = _column(json.dumps(list(values)) if values else None for values in frame[name])
    frame["target"] = frame["target"].astype("Int64")
    return frame


def _insights(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("parents", "lines"):
        frame[name] = _column(json.dumps(list(values), ensure_ascii=False) for values in frame[name])
    frame["depth"] = frame["depth"].astype("Int64")
    return frame


def _exposures(shown: Sequence[events.Shown]) -> pd.DataFrame:
    rows = [
        (event.room, event.round, event.agent, place, *post, event.source)
        for event in shown
        for place, post in enumerate(zip(event.posts, event.scores, event.carriers, strict=True), 1)
    ]
    numbers = dict.fromkeys(("round", "agent", "place", "iteration", "score", "carrier"), "int64")
    return _table(rows, room="object", **numbers, source="object")


def _decisions(frame: pd.DataFrame, states: pd.DataFrame) -> pd.DataFrame:
    frame["earlier"] = _column(json.dumps(list(values)) if values else None for values in frame["earlier"])
    return frame.merge(states, on=["room", "round"], how="left", validate="many_to_one")


def _moves(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("earlier", "probabilities"):
        frame[name] = _column(json.dumps(list(values)) if values else None for values in frame[name])
    return frame


def _expectations(frame: pd.DataFrame) -> pd.DataFrame:
    frame = _moves(frame)
    frame["expected"] = pd.Series([_mean_answer(shares, 0) for shares in frame["probabilities"]], dtype="float64")
    return frame


def _outcomes(settled: Sequence[events.Settled]) -> pd.DataFrame:
    rows = [
        (one.room, one.round, agent, points, one.outcome, one.package, int(one.ended))
        for one in settled
        for agent, points in zip(one.agents, one.points, strict=True)
    ]
    kinds = {"room": "object", "round": "int64", "agent": "int64", "points": "float64", "outcome": "object"}
    return _table(rows, **kinds, package="float64", ended="int64")


def _mean_answer(shares: str | None, low: int = 1) -> float:
    """Return the mean answer of a distribution (JSON) over the points from `low` on; NaN without one."""
    if not isinstance(shares, str):
        return np.nan
    values = np.array(json.loads(shares))
    return float(values @ (low + np.arange(len(values))) / values.sum())


def _versions(
    received: Sequence[events.Received],
    utterances: Sequence[events.Utterance],
    endowed: Sequence[events.Endowed],
    agents: pd.DataFrame,
) -> pd.DataFrame:
    """Return what each agent got, and the version that it made of it. A version is made of one of an earlier day."""
    written = {(one.room, one.round, one.agent): one for one in utterances if one.form == "retelling"}
    roles = {(one.room, one.agent): one.role or None for one in endowed}
    depth: dict[tuple[str, int], int] = {}
    rows = []
    for one in received:
        made = written.get((one.room, one.round, one.agent))
        steps = depth.get((one.room, one.version), 0) + (made is not None)
        if made is not None:
            depth[one.room, made.iteration] = steps
        own = (made.iteration, steps, made.text, made.reason) if made else (None, steps, None, None)
        rows.append((one.room, one.agent, roles.get((one.room, one.agent)), one.round, one.version, one.source, *own))
    numbers = dict.fromkeys(("round", "received", "source"), "int64")
    types = {"room": "object", "agent": "int64", "role": "object"} | numbers | {"iteration": "Int64", "depth": "int64"}
    table = _table(rows, **types, text="object", reason="object")
    table["text"] = _column(map(_storable, table["text"]))
    return _with_keys(table, agents)


def _table(rows: Sequence[tuple[Any, ...]], **types: str) -> pd.DataFrame:
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    named = zip(types.items(), columns, strict=True)
    return pd.DataFrame({name: pd.Series(list(values), dtype=dtype) for (name, dtype), values in named})


def record_of(run: Path) -> Path:
    """Return the record of a run folder: the finished one, else the partial one."""
    if run.is_dir():
        return run / RECORD if (run / RECORD).exists() else run / PARTIAL
    return run


EXPECTED, RATING = "expected", "rating"
BY = ["probe", "topic", "party"]
MEASURE_NOTES = {
    frozenset(
        {EXPECTED}
    ): "Estimates use the mean of the distribution of answers, not the answer itself, which is rounded to a point.",
    frozenset(
        {RATING}
    ): "The distribution of answers is not known: estimates use the answers, which are rounded to a point.",
    frozenset(
        {EXPECTED, RATING}
    ): "Estimates use the mean of the distribution of answers where it is known (column `measure` of the tables).",
}


def rating_value(tables: Tables) -> Tables:
    """Return the tables with estimates in place of ratings: `attitude` is what to estimate with, `measure` says what it is.

    It is `expected` (mean of the answer distribution, 0-10) for a party on a topic if every rating there has one, else `rating`,
    so that the measure does not change within a line.
    """
    ratings = tables.attitudes
    without = ratings["attitude"].notna() & ratings["expected"].isna()
    known = ~without.groupby([ratings[name] for name in BY]).transform("any").astype(bool)
    values = ratings["attitude"].mask(known & ratings["attitude"].notna(), ratings["expected"])
    return replace(tables, attitudes=ratings.assign(attitude=values, measure=np.where(known, EXPECTED, RATING)))


def rating_value_note(tables: Tables) -> str:
    """Return one sentence on the number that estimates use, for a report; empty without ratings."""
    kinds = frozenset(rating_value(tables).attitudes["measure"])
    return MEASURE_NOTES[kinds] if kinds else ""
