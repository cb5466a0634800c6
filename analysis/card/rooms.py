"""Debates as the law takes them (analysis/law.py): ratings before and after each round, and who said something in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.card.held import Held
from parley.analysis.law import GIVEN, Rooms

END = 0.5
"""Points: half a step of the scale."""


class Passage(NamedTuple):
    """One room from one survey to the next: attitudes by seat, and the seats that said something, in order."""

    block: str
    topic: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    spoke: tuple[int, ...]


def passages(held: Held, conditions: Sequence[str]) -> list[Passage]:
    """Every room and round of these conditions that has a survey before and after."""
    return [one for condition in conditions if condition in held for one in _passages(held, condition)]


def _passages(held: Held, condition: str) -> Iterator[Passage]:
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


def packed(found: Sequence[Passage], topics: Sequence[str], silent: Sequence[int] = ()) -> Rooms:
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
    return Rooms(before, after, speaker, np.full((size, lines), np.nan), heard, blocks, subject)
