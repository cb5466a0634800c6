"""A run as one more source: its rooms are the groups, its agents the people, and in public, by what a judge said of its posts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.agents.topic import TURNS, load_topic, scales
from parley.analysis.formatting import group_title
from parley.analysis.human.readers import COLUMNS, Source, others_mean, toward_majority
from parley.analysis.statement_judge import SCALE
from parley.analysis.tables import Tables
from parley.environments.dyads import POST, TALK, partners
from parley.llm.errors import UserError
from parley.model.scenario import MEDIATOR

RUN = "this run"
PUBLIC = "this run, in public"
POINTS = 10
"""Attitudes are 0-10 on the topic's axis."""


def of_run(tables: Tables) -> Source:
    """The run: first and last survey, what was asked between them as turns; a condition is a topic (and group, where several).

    The partner of an agent is the mean of the others in its room, a Default among them; where people talk two by two, the first
    whom it talked with, as in DEBATE. The other side is where the partner stands. What could not be read is NaN.
    Errors: UserError when there are fewer than two surveys.
    """
    probe = tables.header.scenario["probe"]  # a deliberation rates statements as well
    here = tables.attitudes[tables.attitudes["group"].isin(tables.groups) & (tables.attitudes["probe"] == probe)]
    wide = here.pivot(index=["room", "agent"], columns="round", values="attitude").sort_index(axis=1)
    if wide.shape[1] < 2:
        raise UserError("the run has fewer than two surveys: there is no change to measure (--set survey=rounds)")
    seats = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["party"] != MEDIATOR)]
    beliefs = wide.reindex(pd.MultiIndex.from_frame(seats[["room", "agent"]])).to_numpy(dtype=float) / POINTS
    people = pd.DataFrame(
        {"condition": _conditions(tables, seats), "group": seats["room"].to_numpy(), "person": seats["seat"].to_numpy(),
         "before": beliefs[:, 0], "after": beliefs[:, -1], "turns": list(map(tuple, beliefs[:, 1:-1].tolist()))}
    )  # fmt: skip
    if len(told := each_turn(tables)):
        people["turns"] = _turn_by_turn(told, tables, seats)
    first = first_partners(tables)
    who = "the partner is the first one" if first else "the others of a room, a Default among them, are the partners"
    return Source(
        RUN,
        _among(people, list(zip(seats["room"], seats["agent"], strict=True)), first),
        toward_majority(people),
        "room",
        "attitudes of agents, not of people",
        notes=(
            f"Attitudes 0-10 on the topic's axis as 0-1; {who}. The other "
            "side is where their mean lies before: who starts far out has it inward, so regression to the mean is in it.",
            "The same people meet on every topic: all rooms together are fewer independent ones than they count.",
        ),
    )


def each_turn(tables: Tables) -> pd.DataFrame:
    """The ratings of the main probe after every turn (`also=NAME:turns`), of everybody in the room; none in other runs."""
    return tables.probes[tables.probes["probe"] == f"{tables.header.scenario['probe']}{TURNS}"]


def _turn_by_turn(told: pd.DataFrame, tables: Tables, seats: pd.DataFrame) -> list[tuple[float, ...]]:
    """What each was asked after every turn that it heard, 0-1; what it said after its own turns is left out."""
    spoke = tables.utterances.set_index(["room", "agent", "iteration"]).index
    heard = told[~pd.MultiIndex.from_frame(told[["room", "agent", "iteration"]]).isin(spoke)]
    ways = heard.sort_values("iteration", kind="stable").groupby(["room", "agent"])["attitude"].agg(list)
    people = zip(seats["room"], seats["agent"], strict=True)
    return [tuple(value / POINTS for value in ways.get(who, ())) for who in people]


def of_posts(tables: Tables, verdicts: pd.DataFrame) -> Source:
    """What the same agents said in public: a judge's score of their first post and of their last one, on the topic's axis, 0-1.

    verdicts: as analysis/judge writes them. Errors: UserError when the run has no posts or they were not judged.
    """
    turns = tables.utterances[tables.utterances["form"] == POST]
    keys = ["room", "agent", "iteration"]
    if lacking := [name for name in (*keys, "score") if name not in verdicts]:
        raise UserError(f"the verdicts lack the column {', '.join(lacking)}: give the verdicts.csv of run.py judge")
    scored = turns.merge(verdicts[[*keys, "score"]], on=keys, how="inner").sort_values("iteration")
    if scored.empty:
        raise UserError("none of the posts of this run was judged (only the scenario dyads has posts)")
    ends = scored.groupby(["room", "agent"])["score"].agg(
        ["count", lambda all_: all_.iloc[0], lambda all_: all_.iloc[-1]]
    )
    ends.columns = pd.Index(["posts", "before", "after"])
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    found = ends.reindex(pd.MultiIndex.from_frame(seats[["room", "agent"]]))
    people = pd.DataFrame(
        {"condition": _conditions(tables, seats), "group": seats["room"].to_numpy(), "person": seats["seat"].to_numpy(),
         "turns": [()] * len(seats)}
    )  # fmt: skip
    sides = np.array([load_topic(str(topic)).probe("agreement").polarity for topic in seats["topic"]])
    low, high = scales()[SCALE].low, scales()[SCALE].high
    for name in ("before", "after"):
        share = (found[name].where(found["posts"] > 1).to_numpy(dtype=float) - low) / (high - low)
        people[name] = np.where(sides > 0, share, 1 - share)
    return Source(
        PUBLIC,
        _among(people, list(zip(seats["room"], seats["agent"], strict=True)), first_partners(tables)),
        toward_majority(people),
        "room",
        "public posts of agents, scored by a judge",
        notes=("A judge's score (1-7) of the first and of the last post as 0-1; the judge's errors are in it.",),
    )


def first_partners(tables: Tables) -> dict[tuple[str, int], tuple[str, int]]:
    """Whom each (room, agent) talked with first, where people talk two by two; nothing in other runs."""
    talks = tables.utterances[(tables.utterances["form"] == TALK) & (tables.utterances["round"] == 1)]
    return {
        (str(room), one): (str(room), other)
        for room, turns in talks.sort_values("iteration").groupby("room", sort=False)
        for one, other in partners(list(turns["agent"])).items()
    }


def _among(
    people: pd.DataFrame, keys: list[tuple[str, int]], first: dict[tuple[str, int], tuple[str, int]]
) -> pd.DataFrame:
    """The people with their partner and the side on which it stands."""
    before = dict(zip(keys, people["before"], strict=True))
    people["partner"] = [before.get(first[key], np.nan) for key in keys] if first else others_mean(people)
    people["side"] = np.sign((people["partner"] - people["before"]).round(9)).replace(0.0, np.nan)
    return people[COLUMNS]


def _conditions(tables: Tables, seats: pd.DataFrame) -> list[str]:
    """One a topic, and group where there are several; questions that were drawn are one condition together."""
    drawn = tables.header.scenario.get("questions")
    topics = ["Private deliberation" if drawn else tables.title(str(topic)) for topic in seats["topic"]]
    if len(tables.groups) == 1:
        return topics
    return [
        f"{topic}: {group_title(str(group), tables.names)}" for topic, group in zip(topics, seats["group"], strict=True)
    ]
