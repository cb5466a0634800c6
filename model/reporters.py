"""The columns of Mesa's DataCollector after every round: attitudes of each party, and of each agent."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parley.agents.probe import EMOTIONS
from parley.environments.places import Places
from parley.model.casting import REFERENCE

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

Cell = tuple[str, str | None]
"""A party, and one topic or (None) all topics."""
AGENT_REPORTERS = {name: name for name in ("attitude", "party", "room")}
"""Attributes of an agent that are collected, by column."""


def reporters(model: DebateModel) -> dict[str, Any]:
    """Return mean and standard deviation by party, and with several topics also by party and topic.

    `mean_PARTY` is a mean over all topics that are debated in a round. The axes of two topics may run in opposite directions, so
    it may say little. Where stages are about one topic after another, it is of the topic of the round, which the column
    `stage_topic` names.
    """
    parties = sorted({agent.party for agent in model.agents if agent.group != REFERENCE})
    cells: list[Cell] = [(party, None) for party in parties]
    if len(model.setup.subject.topic) > 1:
        cells += [(party, topic) for party in parties for topic in model.setup.subject.topic]
    columns: dict[str, Any] = {"round": "round"}
    if any(span.stage.topic for span in model.clock.spans):
        columns["stage_topic"] = _topic
    for name, reporter in (("mean", _mean), ("sd", _standard_deviation)):
        columns |= {"_".join(filter(None, (name, *cell))): partial(reporter, cell=cell) for cell in cells}
    emotions = [name for name in EMOTIONS if name in model.setup.surveys.also]
    columns |= {f"{name}_{party}": partial(_emotion, name=name, party=party) for name in emotions for party in parties}
    return columns | {"missing": _missing, "stopped": stopped}


def agent_reporters(model: DebateModel) -> dict[str, Any]:
    """Return what is collected of each agent: attitude, party, room, where people meet in several places also the place, and
    the emotions for which surveys ask.
    """
    emotions = [name for name in EMOTIONS if name in model.setup.surveys.also]
    places = {"place": "place"} if isinstance(model.environment, Places) else {}
    return AGENT_REPORTERS | places | {name: partial(_feeling, name=name) for name in emotions}


def _feeling(agent: Any, name: str) -> float | None:
    """The agent's last rating of an emotion, in points of its scale; None if it is missing."""
    rating = agent.ratings.get(name)
    return None if rating is None else rating.value


def _emotion(model: DebateModel, name: str, party: str) -> float | None:
    """Mean rating of an emotion over the agents of a party who debate; None without a readable one."""
    people = [agent for agent in model.agents if agent.party == party and agent.group != REFERENCE]
    feelings = [value for agent in people if (value := _feeling(agent, name)) is not None]
    return statistics.fmean(feelings) if feelings else None


def _topic(model: DebateModel) -> str:
    """The topic of the stage; "" in a stage on all topics."""
    span = model.clock.span(max(model.round, 1))
    return span.stage.topic if span else ""


def attitudes_by_party(model: DebateModel) -> Mapping[Cell, Sequence[float]]:
    """Return the readable attitudes of all agents who debate, by cell. Computed once for all columns of a round.

    The cell of all topics has those on the topic of the stage, if the stage has one.
    """
    attitudes, debated = defaultdict[Cell, list[float]](list), _topic(model)
    for agent in model.agents:
        attitude = agent.attitude
        if attitude is not None and agent.group != REFERENCE:
            if debated in ("", agent.topic.slug):
                attitudes[agent.party, None].append(attitude)
            attitudes[agent.party, agent.topic.slug].append(attitude)
    return attitudes


def _mean(model: DebateModel, cell: Cell) -> float | None:
    """Mean attitude of a cell; None without a readable attitude."""
    attitudes = model.attitudes.get(cell)
    return statistics.fmean(attitudes) if attitudes else None


def _standard_deviation(model: DebateModel, cell: Cell) -> float | None:
    """Sample standard deviation of a cell; None below two readable attitudes."""
    attitudes = model.attitudes.get(cell, ())
    return statistics.stdev(attitudes) if len(attitudes) > 1 else None


def _missing(model: DebateModel) -> int:
    """Number of surveyed agents whose attitude could not be read."""
    return sum(bool(agent.ratings) and agent.attitude is None for agent in model.agents)


def stopped(model: Any) -> str | None:
    """The error that stopped a model before its last round, for a row of a sweep; None without one."""
    return None if model.error is None else f"{type(model.error).__name__}: {model.error}"
