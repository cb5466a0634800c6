"""What people heard between two ratings, and how their beliefs moved: from a recorded run, or from a file of messages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

from .tags import check_topic

PAGE = "studies/belief_reader/README.md"
BELIEFS = {"before": (0.0, 1.0), "after": (0.0, 1.0)}


class Step(NamedTuple):
    """What one person heard between two ratings.

    cluster: what is independent (a room, a conversation). before, after: beliefs in the claim, 0 to 1, NaN where a rating is
    missing. heard, own: places in the table of lines, of those heard in their order and of those that the person said.
    """

    cluster: str
    person: str
    topic: str
    number: int
    before: float
    after: float
    heard: tuple[int, ...]
    own: tuple[int, ...] = ()


class Courses(NamedTuple):
    """lines: topic, text, and cluster. steps: of each person in the order of time."""

    lines: pd.DataFrame
    steps: list[Step]
    unit: str

    @property
    def rated(self) -> int:
        """The number of steps with a rating before and after."""
        return sum(not math.isnan(step.before + step.after) for step in self.steps)


def courses_of_run(tables: Tables) -> Courses:
    """Return what agents of a run heard between two surveys, and their ratings of the main question.

    On a network the record says who heard which line; elsewhere all agents of a room hear all others. Errors: UserError.
    """
    for slug in tables.topics:
        check_topic(load_topic(slug))
    if tables.attitudes.empty:
        raise UserError("the run has no survey, so no belief can be compared: set survey=rounds")
    debating = tables.utterances[tables.utterances["group"].isin(tables.groups)]
    lines = debating[["topic", "room", "round", "iteration", "agent", "text"]].reset_index(drop=True)
    return Courses(lines.assign(cluster=lines["room"]), list(_steps(tables, lines)), "room")


def _steps(tables: Tables, lines: pd.DataFrame) -> Iterator[Step]:
    ratings = tables.attitudes[tables.attitudes["probe"] == tables.header.scenario["probe"]]
    heard = {key: set(rows["iteration"]) for key, rows in tables.heard.groupby(["room", "agent"])}
    lines_of = dict(iter(lines.groupby("room")))
    for (room, agent), rated in ratings[ratings["group"].isin(tables.groups)].groupby(["room", "agent"], sort=False):
        room_lines = lines_of.get(room, lines.iloc[:0])
        others = room_lines[room_lines["agent"] != agent]
        if len(tables.heard):
            others = others[others["iteration"].isin(heard.get((room, agent), set()))]
        mine = room_lines[room_lines["agent"] == agent]
        surveys = rated.sort_values("round")[["round", "attitude", "topic"]].to_dict("records")
        for number, (first, second) in enumerate(pairwise(surveys), 1):
            yield Step(
                str(room), f"{room} {agent}", str(first["topic"]), number, _share(first), _share(second),
                _between(others, first, second), _between(mine, first, second),
            )  # fmt: skip


def _share(survey: dict[str, Any]) -> float:
    value = survey["attitude"]
    return math.nan if pd.isna(value) else float(value) / 10


def _between(lines: pd.DataFrame, first: dict[str, Any], second: dict[str, Any]) -> tuple[int, ...]:
    """Return the places of the lines after a survey, up to the next."""
    inside = (lines["round"] > first["round"]) & (lines["round"] <= second["round"])
    return tuple(int(place) for place in lines.index[inside])


def courses_of_file(path: Path, topic: str) -> Courses:
    """Return the messages of a file: a row is a message (text) that a person reads, in the order of the file.

    Further columns, all optional: topic (else `topic`), conversation, person, and the person's belief (0 to 1) before and after
    the message. Errors: UserError.
    """
    table = read_table(path, ("text",), PAGE, ends=BELIEFS).reset_index(drop=True)
    names = {"conversation": "all", "person": "reader"}
    for name, usual in names.items():
        table[name] = table[name].where(table[name] != "", usual) if name in table else usual
    table["topic"] = table["topic"].where(table["topic"] != "", topic) if "topic" in table else topic
    for slug in table["topic"].unique():
        check_topic(load_topic(str(slug)))
    beliefs = [table[name] if name in table else pd.Series(np.nan, table.index) for name in BELIEFS]
    numbers = table.groupby(["conversation", "person"]).cumcount() + 1
    steps = [
        Step(str(row.conversation), f"{row.conversation} {row.person}", str(row.topic), int(number), float(before), float(after),
             (int(row.Index),))
        for row, number, before, after in zip(table.itertuples(), numbers, *beliefs, strict=True)
    ]  # fmt: skip
    return Courses(table[["topic", "text"]].assign(cluster=table["conversation"]), steps, "conversation")
