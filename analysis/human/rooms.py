"""A run as one more source of opinions: rooms are groups, agents are people."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from parley.agents.probe import TURNS, scales
from parley.agents.topic import load_topic
from parley.analysis.human.readers import COLUMNS, Source, others_mean, toward_majority
from parley.analysis.statement_judge import SCALE
from parley.analysis.tables import Tables
from parley.environments.dyads import POST, TALK, partners
from parley.llm.errors import UserError
from parley.model.scenario import MEDIATOR
from parley.model.titles import group_title

RUN = "this run"
PUBLIC = "this run, in public"
POINTS = 10
"""Attitudes are 0-10 on the topic's axis."""
AGENT, LINE = ["room", "agent"], ["room", "agent", "iteration"]


def of_run(tables: Tables) -> Source:
    """Return the run as a source: first and last survey, with the surveys between them as turns.

    A condition is a topic, and a group where there are several. An agent's partner is the mean of the others in its
    room, Defaults included; in pairs, the first agent that it talked with, as in DEBATE. The other side is where the
    partner is. Ratings that could not be read are NaN. Errors: UserError when there are fewer than two surveys.
    """
    probe = tables.header.scenario["probe"]  # a deliberation rates statements as well
    ratings = tables.attitudes[tables.attitudes["group"].isin(tables.groups) & (tables.attitudes["probe"] == probe)]
    wide = ratings.pivot(index=AGENT, columns="round", values="attitude").sort_index(axis=1)
    if wide.shape[1] < 2:
        raise UserError(
            "the run has fewer than two surveys, so no change can be measured: run the "
            "debates again with --set survey=rounds"
        )
    seats = debating_seats(tables)
    seats = seats[seats["party"] != MEDIATOR]
    beliefs = wide.reindex(pd.MultiIndex.from_frame(seats[AGENT])).to_numpy(dtype=float) / POINTS
    turns = list(map(tuple, beliefs[:, 1:-1].tolist()))
    if len(turn_ratings := each_turn(tables)):
        turns = _heard_turns(turn_ratings, tables, seats)
    people = _people(tables, seats, beliefs[:, 0], beliefs[:, -1], turns)
    pairs = first_partners(tables)
    who = "the partner is the first one" if pairs else "the partners are the others of a room, Defaults included"
    notes = (
        f"Attitudes 0-10 on the topic's axis are converted to 0-1; {who}. The other side is the direction of the "
        "partners' mean opinion before the debate. For an agent with an extreme opinion, the other side lies toward "
        "the middle, so moves toward the other side include regression to the mean.",
    )
    moves, origin = toward_majority(people), "attitudes of agents, not of people"
    return Source(RUN, people, moves, "room", origin, notes=notes, casts=casts_of_rooms(tables))


def debating_seats(tables: Tables) -> pd.DataFrame:
    """Return the rows of `agents` of people who debate in a room."""
    return tables.agents[tables.agents["group"].isin(tables.groups)]


def casts_of_rooms(tables: Tables) -> dict[str, str]:
    """Return the set of people of each room, if some meet in several rooms: the same people debate on every topic; else none."""
    rooms = debating_seats(tables).drop_duplicates("room").set_index("room")
    casts = rooms["group"] + " " + rooms["repetition"].astype(str)
    return dict(casts) if casts.duplicated().any() else {}


def each_turn(tables: Tables) -> pd.DataFrame:
    """Return the ratings of the main question after every turn (`also=NAME:turns`), of all agents in the room; else none."""
    return tables.probes[tables.probes["probe"] == f"{tables.header.scenario['probe']}{TURNS}"]


def _heard_turns(ratings: pd.DataFrame, tables: Tables, seats: pd.DataFrame) -> list[tuple[float, ...]]:
    """Return each agent's opinions (0-1) after the turns that it heard; those after its own turns are left out."""
    spoken = pd.MultiIndex.from_frame(tables.utterances[LINE])
    heard = ratings[~pd.MultiIndex.from_frame(ratings[LINE]).isin(spoken)].sort_values("iteration", kind="stable")
    turns = heard.groupby(AGENT)["attitude"].agg(list)
    keys = seats[AGENT].itertuples(index=False, name=None)
    return [tuple(value / POINTS for value in turns.get(key, ())) for key in keys]


def of_posts(tables: Tables, verdicts: pd.DataFrame) -> Source:
    """Return what the agents said in public: a judge's score of their first and of their last post, 0-1 on the topic's
    axis.

    verdicts: as `run.py study judge` writes them. Errors: UserError when the run has no posts or they were not judged.
    """
    if lacking := [name for name in (*LINE, "score") if name not in verdicts]:
        raise UserError(
            f"the file of verdicts lacks the column {', '.join(lacking)}: give the verdicts.csv written by run.py study judge"
        )
    posts = tables.utterances[tables.utterances["form"] == POST]
    scored = posts.merge(verdicts[[*LINE, "score"]], on=LINE, how="inner").sort_values("iteration")
    if scored.empty:
        raise UserError(
            "no post of this run has a score: judge the run first with run.py study judge, or use a run of the scenario dyads"
        )
    by_agent, seats = scored.groupby(AGENT)["score"], debating_seats(tables)
    agents = pd.MultiIndex.from_frame(seats[AGENT])
    polarity = np.array([load_topic(str(topic)).probe("agreement").polarity for topic in seats["topic"]])
    low, high = scales()[SCALE].low, scales()[SCALE].high
    ends = []
    for place in (0, -1):
        scores = by_agent.agg(lambda values, at=place: values.iloc[at]).where(by_agent.size() > 1)
        share = (scores.reindex(agents).to_numpy(dtype=float) - low) / (high - low)
        ends.append(np.where(polarity > 0, share, 1 - share))
    people = _people(tables, seats, ends[0], ends[1], [()] * len(seats))
    note = (
        "Opinions are a judge's scores (1-7) of the first and of the last post, converted to 0-1. The scores "
        "contain the judge's errors."
    )
    origin = "public posts of agents, scored by a judge"
    return Source(PUBLIC, people, toward_majority(people), "room", origin, notes=(note,), casts=casts_of_rooms(tables))


def first_partners(tables: Tables) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the agent that each (room, agent) talked with first, in runs of pairs; empty in other runs."""
    talks = tables.utterances[(tables.utterances["form"] == TALK) & (tables.utterances["round"] == 1)]
    return {
        (str(room), agent): (str(room), partner)
        for room, turns in talks.sort_values("iteration").groupby("room", sort=False)
        for agent, partner in partners(list(turns["agent"])).items()
    }


def _people(
    tables: Tables, seats: pd.DataFrame, before: np.ndarray, after: np.ndarray, turns: list[tuple[float, ...]]
) -> pd.DataFrame:
    """Return the agents as people, with their partner and the side on which it is."""
    people = pd.DataFrame(
        {"condition": _conditions(tables, seats), "group": seats["room"].to_numpy(), "person": seats["seat"].to_numpy(),
         "before": before, "after": after, "turns": turns}
    )  # fmt: skip
    pairs, keys = first_partners(tables), list(seats[AGENT].itertuples(index=False, name=None))
    opinions: Mapping[tuple[str, int], float] = dict(zip(keys, before, strict=True))
    people["partner"] = [opinions.get(pairs[key], np.nan) for key in keys] if pairs else others_mean(people)
    people["side"] = np.sign((people["partner"] - people["before"]).round(9)).replace(0.0, np.nan)
    return people[COLUMNS]


def _conditions(tables: Tables, seats: pd.DataFrame) -> list[str]:
    """Return one condition per topic, and per group if there are several; all drawn questions are one condition."""
    drawn = tables.header.scenario.get("questions")
    topics = ["Private deliberation" if drawn else tables.title(str(topic)) for topic in seats["topic"]]
    if len(tables.groups) == 1:
        return topics
    titles = [group_title(str(group), tables.names) for group in seats["group"]]
    return [f"{topic}: {title}" for topic, title in zip(topics, titles, strict=True)]
