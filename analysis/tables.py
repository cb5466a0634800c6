"""A record as tidy tables (`load`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.own_people import people_folder
from parley.agents.probe import EMOTIONS, FORECAST
from parley.agents.society import PartyNames, Society, load_society, party_name
from parley.agents.topic import is_news, load_topic
from parley.agents.traits import trait_names
from parley.analysis.event_frames import (
    EventColumns,
    act_frame,
    agent_models,
    character_frame,
    event_frame,
    exposure_frame,
    heard_frame,
    insight_frame,
    intervention_frame,
    link_frame,
    rating_frame,
    table_frame,
    text_column,
    utterance_frame,
    with_keys,
    with_nodes,
)
from parley.analysis.rating_value import rating_value_note, values_on_scale, with_opinions
from parley.analysis.record_rows import MANY, read_rows, row_kinds
from parley.analysis.run_tables import run_tables
from parley.environments.base import MEDIATOR, UNDER
from parley.llm.backends.oracle.phrases import TopicBank, topic_bank
from parley.llm.errors import UserError
from parley.llm.request import served_by
from parley.model import events
from parley.model.events.texts import RETELLING
from parley.model.header_bounds import LARGEST
from parley.model.missing_replies import UNASKED
from parley.model.scenario_run import record_of


@dataclass(frozen=True)
class Tables:
    """One run: a DataFrame for each table, with its columns and their types also when it is empty.

    analysis/schemas/columns.toml says what a row and each column means. The keys of an agent are room, topic, group, repetition,
    seat, party, name and agent, and on a network of the user also node. Tables of studies are in `of_studies`.
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
    places: pd.DataFrame
    acts: pd.DataFrame
    exposures: pd.DataFrame
    insights: pd.DataFrame
    interviews: pd.DataFrame
    finished: bool
    of_studies: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __getattr__(self, name: str) -> pd.DataFrame:
        """Return a table of a study."""
        if name not in (study_tables := self.__dict__.get("of_studies", {})):
            raise AttributeError(f"a run has no table {name}")
        table: pd.DataFrame = study_tables[name]
        return table

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
        if self.header.is_log:
            raise UserError(
                "the run was read from a log, so its society, prompts and personas are unknown (docs/files.md)"
            )
        return load_society(str(self.header.scenario["society"]))

    @property
    def personas(self) -> Path:
        """The folder of the set of personas. Errors: UserError if it is not on this machine."""
        return people_folder(str(self.header.scenario["personas"]), self.society)

    @property
    def names(self) -> PartyNames:
        """The names of parties, of those that the society names."""
        return self.header.names

    def plural(self, party: str) -> str:
        """What several people of a party are called."""
        return self.names.plurals.get(party) or f"{party_name(party, self.names)}s"

    @property
    def opinion_note(self) -> str:
        """A sentence on what an opinion is in this run (analysis/rating_value.py); empty without ratings."""
        return rating_value_note(self.attitudes, str(self.header.scenario.get("measure", "mean")))

    @property
    def seeded(self) -> pd.DataFrame:
        """The posts that got a vote from outside at once."""
        return self.acts[self.acts["seeded"] != 0]

    @property
    def replies(self) -> pd.DataFrame:
        """The turns that agents were asked for, without statements of mediators and versions of a story."""
        turns = self.utterances
        debated = (turns["agent"] != MEDIATOR) & (turns["form"] != RETELLING)
        return asked_for(turns[debated])

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
        """The ratings of emotion with the column `value`: the mean of the answer distribution, or the answer, as `measure` says.
        Both are in points of the question's scale.
        """
        felt = self.probes[self.probes["probe"].isin(EMOTIONS)]
        return felt.assign(value=values_on_scale(felt))

    @property
    def whole_network(self) -> pd.DataFrame:
        """The links of a run in which all people are in a network from first to last, and nowhere else."""
        return self.links if self.places.empty else self.links.iloc[:0]

    @property
    def emotions_on_ties(self) -> pd.DataFrame:
        """The ratings of emotion of a run that says who heard which line: on a network or a platform."""
        return self.emotions if len(self.heard) else self.emotions.iloc[:0]

    @property
    def graded(self) -> pd.DataFrame:
        """The lines of known grade (0-10 on the topic's axis): those with a sentence of our own speakers. Versions of a story,
        which say nothing of their author, are left out.
        """
        authored = self.utterances[self.utterances["form"] != RETELLING]
        banks = {slug: _bank(str(slug)) for slug in authored["topic"].unique()}
        grades = [
            bank.grade(text) if isinstance(text, str) and (bank := banks[slug]) else None
            for slug, text in zip(authored["topic"], authored["text"], strict=True)
        ]
        return authored[["room", "iteration"]].assign(grade=pd.Series(grades, authored.index, "float64")).dropna()

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


def asked_for(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings or turns that were asked for: who is not there, or may not speak, is not asked and so not missing."""
    return answers[~answers["reason"].isin(UNASKED)]


def _bank(slug: str) -> TopicBank | None:
    """Return the sentences of a topic of which the grade is known; None for a topic without any, and for a question."""
    try:
        return topic_bank(load_topic(slug).root)
    except UserError:
        return None


NOTED = (
    "unread", "repeated", "cut", "shortened", "uncounted", "cached_tokens", "thinking_tokens", "batch", "drawn", "checked",
    "drifted",
)  # fmt: skip


def load(run: Path) -> Tables:
    """Load a run folder or a record file. Errors: UserError when there is none."""
    return tables(read_rows(record_of(run)), str(run))


def _check_rounds(kinds: Mapping[type, Sequence[Any]], run: str) -> None:
    """Errors: UserError on a round or turn that no run has: tables and figures go from the first to the last."""
    most = max(LARGEST, sum(map(len, kinds.values())))
    for kind, kind_events in kinds.items():
        for name in {"round", "rounds", "iteration"} & {each.name for each in fields(kind)}:
            if isinstance(kind_events, EventColumns):
                last = kind_events.largest(name)
            else:
                last = max((getattr(event, name) for event in kind_events), default=0)
            if last > most:
                raise UserError(f"{run}: the record says {name} = {last:,}, and no run of Parley has such a number")


def tables(record: Iterable[Any], run: str = "this run") -> Tables:
    """Return the tables of a record's events, or of its rows (analysis/record_rows.py). Errors: UserError without a header."""
    kinds: dict[type, Any] = defaultdict(list)
    kinds |= {kind: EventColumns(kind) for kind in MANY}
    kinds[events.Unlinked] = kinds[events.Linked]  # one list, in the order of the record
    lists = kinds | {row: kinds[kind] for row, kind in row_kinds().items()}
    for event in record:
        if (of_kind := lists.get(type(event))) is None:
            of_kind = lists[type(event)] = kinds[type(event)]
        of_kind.append(event)
    if not kinds[events.Header]:
        raise UserError(f"{run} has no results yet: its record is empty")
    _check_rounds(kinds, run)
    header = kinds[events.Header][-1]
    frames = {kind: partial(event_frame, kinds[kind], kind) for kind in events.KINDS.values() if kind not in MANY}
    frames |= {kind: kinds[kind].frame for kind in MANY}
    agents, calls = with_nodes(frames[events.Seated](), kinds[events.Node]), frames[events.Called]()
    agents["llm"] = text_column(agent_models(agents, header, kinds[events.OwnModel]))
    notes = calls.pop("notes")
    noted = set().union(*notes)
    for name in NOTED:
        calls[name] = pd.Series([note.get(name, 0) for note in notes] if name in noted else 0, calls.index, "int64")
    calls["served"] = text_column(served_by(note) or None for note in notes)
    rated = with_opinions(rating_frame(frames[events.Rated]()), agents, str(header.scenario.get("measure", "mean")))
    ratings = with_keys(rated, agents)
    further = ratings["probe"].isin({FORECAST, *header.scenario.get("also", ())})
    return Tables(
        header=header,
        agents=agents,
        characters=with_keys(character_frame(frames[events.Endowed]()), agents),
        utterances=with_keys(utterance_frame(frames[events.Utterance]()), agents),
        summaries=with_keys(frames[events.Summarised](), agents),
        private=with_keys(frames[events.Private](), agents),
        attitudes=ratings[~further].reset_index(drop=True),
        probes=ratings[further].reset_index(drop=True),
        calls=calls,
        interventions=intervention_frame(frames[events.Intervened](), agents),
        links=link_frame(kinds[events.Linked], kinds[events.Signed]),
        heard=heard_frame(kinds[events.Heard], kinds[events.Shown]),
        places=with_keys(table_frame(kinds[events.Gathered]), agents),
        acts=with_keys(act_frame(frames[events.Acted]()), agents),
        exposures=exposure_frame(kinds[events.Shown]),
        insights=with_keys(insight_frame(frames[events.Concluded]()), agents),
        interviews=with_keys(frames[events.Interviewed](), agents),
        finished=bool(kinds[events.Ended]),
        of_studies={name: with_keys(table.frame(kinds), agents) for name, table in run_tables().items()},
    )
