"""The votes of the agents of a run: what each of them says of each topic in a survey, as agree, disagree or pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

FIRST, LAST = ("first", "last")
MIDDLE = 5.0
"""Of the axis of a topic: an agent there passes."""
FEWEST = 2


class RunVotes(NamedTuple):
    """Votes (a row per agent, a column per statement; NaN: missing) and the party of each agent."""

    votes: pd.DataFrame
    parties: pd.Series


def run_votes(tables: Tables, survey: str) -> RunVotes:
    """Return the votes of agents in the first or the last survey of their rooms.

    An agent is a place of a group in a repetition: the same person has it on every topic. A statement is a topic, or a further
    survey question of it; 1 agrees with the statement (above the middle of the topic's axis; of a reversed question below it), -1
    disagrees, 0 passes. The draft and the revision of a deliberation are no statements here, because each group has its own.
    Errors: UserError where agents were asked about fewer than two statements.
    """
    usual = tables.header.scenario["probe"]
    own = tables.attitudes[tables.attitudes["probe"] == usual]
    rows = pd.concat([own, tables.probes.dropna(axis="columns", how="all")], ignore_index=True)
    rows = rows[rows["group"] != REFERENCE]
    rounds = rows.groupby(["room", "probe"])["round"]
    rows = rows[rows["round"] == rounds.transform("min" if survey == FIRST else "max")]
    statements = [
        topic if probe == usual else f"{topic}: {probe}"
        for topic, probe in zip(rows["topic"], rows["probe"], strict=True)
    ]
    person = [
        f"{group} {number:03} {seat}"
        for group, number, seat in zip(rows["group"], rows["repetition"], rows["seat"], strict=True)
    ]
    sides = [
        1 if probe == usual else load_topic(topic).probe(probe).polarity
        for topic, probe in zip(rows["topic"], rows["probe"], strict=True)
    ]
    # a vote is the answer itself, where an agent can pass; the mean of its distribution is hardly ever the middle
    vote = np.sign(rows["answer"].astype(float) - MIDDLE) * sides
    rows = rows.assign(person=person, statement=statements, vote=vote)
    if rows["statement"].nunique() < FEWEST:
        raise UserError(
            f"the run asks about {rows['statement'].nunique()} statement, and groups of opinion need several: "
            "run it on several topics (--set topics=A,B,C)"
        )
    votes = rows.pivot(index="person", columns="statement", values="vote")
    return RunVotes(votes, rows.drop_duplicates("person").set_index("person")["party"].reindex(votes.index))
