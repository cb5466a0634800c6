"""What Mesa's DataCollector is told of a debate after every round: of each party, and of each agent."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parley.model.agent_factory import SeatedAgent
from parley.model.casting import REFERENCE

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

Cell = tuple[str, str | None]
"""A party, and one topic or (None) all."""


def reporters(model: DebateModel) -> dict[str, Any]:
    """Mean and spread by party, and by party and topic when there are several (their axes may run opposite ways)."""
    parties = sorted({agent.party for agent in model.agents if agent.group != REFERENCE})
    cells: list[Cell] = [(party, None) for party in parties]
    if len(model.setup.subject.topics) > 1:
        cells += [(party, topic) for party in parties for topic in model.setup.subject.topics]
    found: dict[str, Any] = {"round": _round_of}
    for name, reporter in (("mean", _mean), ("sd", _spread)):
        found |= {"_".join(filter(None, (name, *cell))): partial(reporter, cell=cell) for cell in cells}
    return found | {"missing": _missing, "stopped": _stopped}


def attitudes_by_party(model: DebateModel) -> Mapping[Cell, Sequence[float]]:
    """The readable attitudes of those who debate, by cell: looked up once for all that is reported of a round."""
    found: dict[Cell, list[float]] = defaultdict(list)
    for agent in model.agents:
        attitude = agent.attitude
        if attitude is not None and agent.group != REFERENCE:
            found[agent.party, None].append(attitude)
            found[agent.party, agent.topic.slug].append(attitude)
    return found


def _round_of(model: DebateModel) -> int:
    return model.round


def _mean(model: DebateModel, cell: Cell) -> float | None:
    """Mean attitude over the agents of a cell; None when nobody could be read."""
    known = model.standing.get(cell)
    return statistics.fmean(known) if known else None


def _spread(model: DebateModel, cell: Cell) -> float | None:
    """Sample standard deviation over the agents of a cell; None below two readable ones."""
    known = model.standing.get(cell, ())
    return statistics.stdev(known) if len(known) > 1 else None


def _missing(model: DebateModel) -> int:
    """How many of those asked gave no rating that could be read."""
    return sum(bool(agent.ratings) and agent.attitude is None for agent in model.agents)


def _stopped(model: DebateModel) -> str | None:
    """What stopped the model before its last round, if anything did: a row of a sweep tells it."""
    return None if model.error is None else f"{type(model.error).__name__}: {model.error}"


def _attitude(agent: SeatedAgent) -> float | None:
    return agent.attitude


def _party(agent: SeatedAgent) -> str:
    return agent.party


def _room(agent: SeatedAgent) -> str:
    return agent.room


AGENT_REPORTERS = {"attitude": _attitude, "party": _party, "room": _room}
