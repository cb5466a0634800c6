"""The records of a condition over all batches, as tables in which every row knows its block.

Debates as the law takes them (analysis/influence_model.py): ratings before and after each round, and who said
something in between.

The lines of a run as `llm/backends/yoked.py` reads them: a speaker an entry.
"""

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
from parley.analysis.tables import Tables


def write_yoked_lines(tables: Tables, path: Path) -> Path:
    """Write who said what on which topic among whom; the path."""
    names = tables.agents.groupby("room")["name"].agg(list)
    spoken = tables.utterances.dropna(subset="text").sort_values(["room", "iteration"])
    found = [
        {"topic": load_topic(topic).title, "party": party, "names": names[room], "said": list(said)}
        for (room, topic, party, _), said in spoken.groupby(["room", "topic", "party", "agent"], sort=False)["text"]
    ]
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return path


KEYS = ["block", "room", "topic", "group", "party", "seat", "agent", "name", "round"]


@dataclass
class ConditionRecords:
    """`tables` by condition, a record a batch; `answers` by kind, what was asked outside of debates (interviews.py).

    `people`: sources of human opinions to set beside them (None: none given).
    """

    tables: dict[str, list[Tables]] = field(default_factory=dict)
    answers: dict[str, list[pd.DataFrame]] = field(default_factory=dict)
    people: Sequence[Source] | None = None
    _ratings: dict[tuple[str, bool, int], pd.DataFrame] = field(default_factory=dict)

    def add(self, condition: str, tables: Tables) -> None:
        self.tables.setdefault(condition, []).append(tables)

    def hear(self, kind: str, answers: pd.DataFrame) -> None:
        self.answers.setdefault(kind, []).append(answers)

    def heard(self, kind: str) -> pd.DataFrame | None:
        """What was asked outside of debates, over all batches; None where nothing was."""
        return pd.concat(self.answers[kind], ignore_index=True) if kind in self.answers else None

    def __contains__(self, condition: str) -> bool:
        return bool(self.tables.get(condition))

    @property
    def records(self) -> Mapping[str, Sequence[Tables]]:
        return self.tables

    def ratings(self, condition: str, further: bool = False) -> pd.DataFrame:
        """A row a rating: KEYS, probe, level (0-10), attitude, rating, reason, how. `further`: also those of further probes.

        level is the mean of the answer distribution where every rating of the record has one, else the rating itself.
        """
        found = self.tables[condition]
        key = condition, further, len(found)
        if key not in self._ratings:
            rated = [_rated(one, further, batch) for batch, one in enumerate(found, 1)]
            self._ratings[key] = pd.concat(rated, ignore_index=True)
        return self._ratings[key]

    def unread(self) -> str:
        """Why there is nothing to write a card of: no rating of any condition could be read; "" where one could."""
        frames = [frame for found in self.tables.values() for one in found for frame in (one.attitudes, one.probes)]
        rated = pd.concat([frame[["rating", "reason"]] for frame in frames if len(frame)], ignore_index=True)
        if rated.empty or rated["rating"].notna().any():
            return ""
        return f"none of {len(rated):,} ratings could be read ({count_table(rated['reason'].dropna())})"

    def spoken(self, condition: str) -> pd.DataFrame:
        """A row a turn: block, room, round, iteration, agent, whether it was `said`."""
        frames = [_named(one.utterances, batch) for batch, one in enumerate(self.tables[condition], 1)]
        told = pd.concat(frames, ignore_index=True)
        return told.assign(said=told["text"].notna())[["block", "room", "round", "iteration", "agent", "said"]]


def _rated(tables: Tables, further: bool, batch: int) -> pd.DataFrame:
    frames = [tables.attitudes, *([tables.probes] if further else [])]
    found = pd.concat([one for one in frames if len(one)], ignore_index=True)
    read = found["attitude"].notna()
    how = "expected" if found.loc[read, "expected"].notna().all() else "attitude"
    told = _named(found, batch).assign(level=found[how].where(read), how=how)
    return told[[*KEYS, "probe", "level", "attitude", "rating", "reason", "how"]]


def _named(frame: pd.DataFrame, batch: int) -> pd.DataFrame:
    blocks = [f"{batch}/{number}" for number in frame["repetition"]]
    return frame.assign(block=blocks, room=f"{batch}/" + frame["room"].astype(str))


END = 0.5
"""Points: half a step of the scale."""


class Passage(NamedTuple):
    """One room from one survey to the next: attitudes by seat, and the seats that said something, in order."""

    block: str
    topic: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    spoke: tuple[int, ...]


def room_passages(held: ConditionRecords, conditions: Sequence[str]) -> list[Passage]:
    """Every room and round of these conditions that has a survey before and after."""
    return [one for condition in conditions if condition in held for one in _passages(held, condition)]


def _passages(held: ConditionRecords, condition: str) -> Iterator[Passage]:
    rated = held.ratings(condition)
    rated = rated[rated["group"] != "reference"]
    spoken = held.spoken(condition)
    lines = {key: list(part) for key, part in spoken[spoken["said"]].groupby(["room", "round"])["agent"]}
    levels = rated.pivot(index=["block", "topic", "room", "agent"], columns="round", values="level")
    rounds = list(levels.columns)
    for (block, topic, room), part in levels.groupby(level=["block", "topic", "room"], sort=False):
        seats = {agent: seat for seat, agent in enumerate(part.index.get_level_values("agent"))}
        values = part.to_numpy(dtype=float)
        for place, (before, after) in enumerate(pairwise(rounds)):
            said = [agent for round_ in range(before + 1, after + 1) for agent in lines.get((room, round_), [])]
            spoke = tuple(seats[agent] for agent in said)
            yield Passage(block, topic, tuple(values[:, place]), tuple(values[:, place + 1]), spoke)


def pack_passages(found: Sequence[Passage], topics: Sequence[str], silent: Sequence[int] = ()) -> RoomPassages:
    """The passages as arrays; clusters are blocks, subjects the topics in this order.

    Who stands within END of an end of the axis can move one way only, which no law of means knows: what becomes of it is left
    out (by where it stood before, never by where it came to). silent: seats whose lines cannot be read, so that they pull
    nobody toward themselves (partners who say nothing of substance).
    """
    seats, lines = max(len(one.before) for one in found), max(len(one.spoke) for one in found)
    size = len(found)
    before, after = np.full((size, seats), np.nan), np.full((size, seats), np.nan)
    speaker, heard = np.full((size, lines), GIVEN), np.zeros((size, lines, seats), dtype=bool)
    for row, one in enumerate(found):
        before[row, : len(one.before)], after[row, : len(one.after)] = one.before, one.after
        for line, seat in enumerate(one.spoke):
            speaker[row, line] = GIVEN if seat in silent else seat
            heard[row, line, : len(one.before)] = np.arange(len(one.before)) != seat
    after[(before < END) | (before > 10 - END)] = np.nan
    blocks = pd.factorize(np.array([one.block for one in found]))[0]
    subject = np.array([list(topics).index(one.topic) for one in found])
    return RoomPassages(before, after, speaker, np.full((size, lines), np.nan), heard, blocks, subject)
