"""A run as one more source: its rooms are the groups, its agents the people."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.human.table import COLUMNS, Source, others_mean, toward_majority
from analysis.load import Tables
from analysis.wording import group_title
from llm.errors import UserError
from model.scenario import MEDIATOR

RUN = "this run"
POINTS = 10
"""Attitudes are 0-10 on the topic's axis."""


def of_run(tables: Tables) -> Source:
    """The run: first and last survey, the surveys between them as turns; a condition is a topic (and group, where several).

    The partner of an agent is the mean of the others in its room, a Default among them; the other side is where that mean
    lies. What could not be read is NaN. Errors: UserError when there are fewer than two surveys.
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
    people["partner"] = others_mean(people)
    people["side"] = np.sign((people["partner"] - people["before"]).round(9)).replace(0.0, np.nan)
    return Source(
        RUN,
        people[COLUMNS],
        toward_majority(people),
        "room",
        "attitudes of agents, not of people",
        notes=(
            "Attitudes 0-10 on the topic's axis as 0-1; the others of a room, a Default among them, are the partners. The other "
            "side is where their mean lies before: who starts far out has it inward, so regression to the mean is in it.",
            "The same people meet on every topic: all rooms together are fewer independent ones than they count.",
        ),
    )


def _conditions(tables: Tables, seats: pd.DataFrame) -> list[str]:
    """One a topic, and group where there are several; questions that were drawn are one condition together."""
    drawn = tables.header.scenario.get("questions")
    topics = ["Private deliberation" if drawn else tables.title(str(topic)) for topic in seats["topic"]]
    if len(tables.groups) == 1:
        return topics
    return [f"{topic}: {group_title(str(group))}" for topic, group in zip(topics, seats["group"], strict=True)]
