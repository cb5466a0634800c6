"""The records of each condition over all batches: tables with a block, and passages for the fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.formatting import count_table
from parley.analysis.human.readers import Source
from parley.analysis.influence_model import GIVEN, RoomPassages
from parley.analysis.rating_value import EXPECTED, predict_ratings
from parley.analysis.tables import Tables

KEYS = ["block", "room", "topic", "group", "party", "seat", "agent", "name", "round"]
END = 0.5
"""Points: half a step of the scale."""


def write_yoked_lines(tables: Tables, path: Path) -> Path:
    """Write the lines of a run as `llm/backends/yoked.py` reads them, one entry per speaker; the path."""
    names = tables.agents.groupby("room")["name"].agg(list)
    spoken = tables.utterances.dropna(subset="text").sort_values(["room", "iteration"])
    entries = [
        {"topic": load_topic(topic).title, "party": party, "names": names[room], "said": list(texts)}
        for (room, topic, party, _), texts in spoken.groupby(["room", "topic", "party", "agent"], sort=False)["text"]
    ]
    path.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return path


@dataclass
class ConditionRecords:
    """What was run: `tables` by condition, one record per batch; `answers` by kind, asked outside of debates (interviews.py).

    people: sources of human opinions to compare with; None: none given.
    """

    tables: dict[str, list[Tables]] = field(default_factory=dict)
    answers: dict[str, list[pd.DataFrame]] = field(default_factory=dict)
    people: Sequence[Source] | None = None
    _ratings: dict[tuple[str, bool, int], pd.DataFrame] = field(default_factory=dict)

    def add(self, condition: str, tables: Tables) -> None:
        self.tables.setdefault(condition, []).append(tables)

    def add_answers(self, kind: str, answers: pd.DataFrame) -> None:
        self.answers.setdefault(kind, []).append(answers)

    def answers_to(self, kind: str) -> pd.DataFrame | None:
        """The answers outside of debates, over all batches; None if there are none."""
        return pd.concat(self.answers[kind], ignore_index=True) if kind in self.answers else None

    def __contains__(self, condition: str) -> bool:
        return bool(self.tables.get(condition))

    @property
    def records(self) -> Mapping[str, Sequence[Tables]]:
        return self.tables

    @property
    def parties(self) -> tuple[str, str]:
        """The two parties that debate; the records are those of one society."""
        return next(iter(self.tables.values()))[0].society.debaters

    def ratings(self, condition: str, further: bool = False) -> pd.DataFrame:
        """One row per rating: KEYS, probe, level (0-10), attitude, rating, reason, how. further: also those of further probes.

        level is the mean of the answer probabilities if every rating of the record has them, else the rating itself.
        """
        records = self.tables[condition]
        key = condition, further, len(records)
        if key not in self._ratings:
            frames = [_rated(tables, further, batch) for batch, tables in enumerate(records, 1)]
            self._ratings[key] = pd.concat(frames, ignore_index=True)
        return self._ratings[key]

    def unread(self) -> str:
        """Why no card can be written: no rating of any condition could be read; "" if one could."""
        records = [tables for condition in self.tables.values() for tables in condition]
        frames = [frame for tables in records for frame in (tables.attitudes, tables.probes) if len(frame)]
        rated = pd.concat([frame[["rating", "reason"]] for frame in frames], ignore_index=True)
        if rated.empty or rated["rating"].notna().any():
            return ""
        return f"none of {len(rated):,} ratings could be read ({count_table(rated['reason'].dropna())})"

    def spoken(self, condition: str) -> pd.DataFrame:
        """One row per turn: block, room, round, iteration, agent, and whether the agent `said` something."""
        frames = [_with_block(tables.utterances, batch) for batch, tables in enumerate(self.tables[condition], 1)]
        turns = pd.concat(frames, ignore_index=True)
        return turns.assign(said=turns["text"].notna())[["block", "room", "round", "iteration", "agent", "said"]]


def _rated(tables: Tables, further: bool, batch: int) -> pd.DataFrame:
    frames = [tables.attitudes, *([tables.probes] if further else [])]
    rated = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    how = np.where(rated["measure"] == EXPECTED, "expected", "attitude")
    named = _with_block(rated, batch).assign(level=rated["attitude"], attitude=rated["answer"], how=how)
    return named[[*KEYS, "probe", "level", "attitude", "rating", "reason", "how"]]


def _with_block(frame: pd.DataFrame, batch: int) -> pd.DataFrame:
    blocks = [f"{batch}/{number}" for number in frame["repetition"]]
    return frame.assign(block=blocks, room=f"{batch}/" + frame["room"].astype(str))


class Passage(NamedTuple):
    """One room from one survey to the next: by seat the ratings before and after and what other ratings predict for `before`
    (predicted_ratings.py), the seats that said something, in order, and the party of each.
    """

    block: str
    topic: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    predicted: tuple[float, ...]
    spoke: tuple[int, ...]
    parties: tuple[str, ...]


def room_passages(study: ConditionRecords, conditions: Sequence[str]) -> list[Passage]:
    """Every room and round of these conditions with a survey before and after it."""
    here = [name for name in conditions if name in study]
    if not here:
        return []
    rated, spoken = (
        pd.concat([frame(name).assign(condition=name) for name in here], ignore_index=True)
        for frame in (study.ratings, study.spoken)
    )
    index = ["condition", "block", "topic", "room", "agent", "party"]
    levels = rated[rated["group"] != "reference"].pivot(index=index, columns="round", values="level")
    lines = spoken[spoken["said"]].groupby(["condition", "room", "round"])["agent"].agg(list).to_dict()
    return list(_passages(levels, lines))


def _passages(levels: pd.DataFrame, lines: Mapping[tuple[str, str, int], list[int]]) -> Iterator[Passage]:
    """The passages of rooms. levels: a row per agent, a column per survey. lines: who spoke, by condition, room and round."""
    names = {name: levels.index.get_level_values(name) for name in levels.index.names}
    cells = levels.groupby(level=["condition", "topic", "party"]).ngroup().to_numpy()
    blocks, kinds = (pd.factorize(names[name])[0] for name in ("block", "party"))
    values = levels.to_numpy(dtype=float)
    predicted = predict_ratings(values, cells, blocks, kinds)
    rooms = levels.groupby(level=["condition", "block", "topic", "room"], sort=False).indices
    for (condition, block, topic, room), rows in rooms.items():
        seats = {agent: seat for seat, agent in enumerate(names["agent"][rows])}
        parties = tuple(names["party"][rows])
        for place, (before, after) in enumerate(pairwise(levels.columns)):
            rounds = (lines.get((condition, room, round_), []) for round_ in range(before + 1, after + 1))
            spoke = tuple(seats[agent] for speakers in rounds for agent in speakers)
            first, last, likely = (
                tuple(column.tolist())
                for column in (values[rows, place], values[rows, place + 1], predicted[rows, place])
            )
            yield Passage(block, topic, first, last, likely, spoke, parties)


def pack_passages(
    passages: Sequence[Passage], topics: Sequence[str], silent: Sequence[int] = (), kinds: Sequence[str] = ()
) -> RoomPassages:
    """The passages as arrays; clusters are blocks, subjects the topics in this order.

    An agent within END of an end of the axis can move one way only, which a law of means does not know. Its next rating is
    left out (by what is predicted of it, because a choice by a rating would be a choice of its noise). silent: seats whose lines
    have no content, so that no agent is pulled toward their speakers. kinds: parties whose agents move at rates of their own;
    without them all move alike.
    """
    seats, lines = max(len(each.before) for each in passages), max(len(each.spoke) for each in passages)
    size = len(passages)
    before, after, predicted = (np.full((size, seats), np.nan) for _ in range(3))
    speaker, heard = np.full((size, lines), GIVEN), np.zeros((size, lines, seats), dtype=bool)
    kind = np.zeros((size, seats), dtype=int)
    for row, passage in enumerate(passages):
        present = len(passage.before)
        before[row, :present], after[row, :present] = passage.before, passage.after
        predicted[row, :present] = passage.predicted
        kind[row, :present] = [kinds.index(party) if kinds else 0 for party in passage.parties]
        for line, seat in enumerate(passage.spoke):
            speaker[row, line] = GIVEN if seat in silent else seat
            heard[row, line, :present] = np.arange(present) != seat
    after[(predicted < END) | (predicted > 10 - END)] = np.nan
    blocks = pd.factorize(np.array([passage.block for passage in passages]))[0]
    subject = np.array([list(topics).index(passage.topic) for passage in passages])
    return RoomPassages(before, after, speaker, np.full((size, lines), np.nan), heard, blocks, subject, kind, predicted)
