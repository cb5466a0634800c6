"""Who sits where: repetitions are rooms of one population, each with its own personas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from agents.persona import Persona, load_personas
from environments.base import Group
from llm.errors import UserError
from llm.randomness import stream
from model.scenario import Scenario

REFERENCE = "reference"
"""The group of those who are asked once, before the debates, and take no part."""


class Place(NamedTuple):
    """One seat: its label in the group (`republican 2`; `republican` when it is alone of its party) and who sits there."""

    seat: str
    persona: Persona


class Table(NamedTuple):
    """One room before the agents exist."""

    room: str
    topic: str
    group: str
    repetition: int
    places: tuple[Place, ...]


def tables(scenario: Scenario) -> Iterator[Table]:
    """Every room of the scenario: topic by topic, group by group, repetition by repetition.

    Persona choice depends on the seed, the party, the repetition and the seat alone: the same people meet on every topic,
    and in a group with and without a Default. Members of one party are taken around a random circle of its personas, so that
    over as many repetitions as there are personas each has every seat of its party once (D5 row 2: a seeded derangement).
    """
    circles = _circles(scenario)
    for topic in scenario.topics:
        if scenario.reference:
            yield _table(topic, Group(REFERENCE, scenario.reference), 0, circles)
        for group in scenario.build_environment().groups():
            for repetition in range(scenario.repetitions):
                yield _table(topic, group, repetition, circles)


def _circles(scenario: Scenario) -> dict[str, list[Persona]]:
    groups = scenario.build_environment().groups()
    parties = {*scenario.reference, *(party for group in groups for party in group.seats)}
    circles = {party: list(load_personas(party)) for party in sorted(parties)}
    for party, circle in circles.items():
        stream(scenario.seed, "personas", party).shuffle(circle)
    return circles


def _table(topic: str, group: Group, repetition: int, circles: dict[str, list[Persona]]) -> Table:
    sizes, taken = Counter(group.seats), Counter[str]()
    places = []
    for party in group.seats:
        circle = circles[party]
        if sizes[party] > len(circle):
            raise UserError(
                f"group {group.name} seats {sizes[party]} {party} agents, but there are {len(circle)} personas"
            )
        persona = circle[(repetition + taken[party]) % len(circle)]
        taken[party] += 1
        places.append(Place(f"{party} {taken[party]}" if sizes[party] > 1 else party, persona))
    return Table(f"{topic}/{group.name}/{repetition:03}", topic, group.name, repetition, tuple(places))
