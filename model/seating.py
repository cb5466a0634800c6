"""Who sits where: repetitions are rooms of one population, each with its own personas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from agents.persona import DEFAULT, Persona, load_personas
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
    """One room before the agents exist. `present` are the names that each of them is told of, beside its own."""

    room: str
    topic: str
    group: str
    repetition: int
    places: tuple[Place, ...]
    present: tuple[str, ...]


def tables(scenario: Scenario) -> Iterator[Table]:
    """Every room of the scenario: topic by topic, group by group, repetition by repetition.

    Persona choice depends on the seed, the party, the repetition and the seat alone: the same people meet on every topic,
    and in a group with and without a Default. Members of one party are taken around a random circle of its personas, so that
    over as many repetitions as there are personas each has every seat of its party once and nobody meets itself (D5 row 2: a
    seeded derangement). With more repetitions the circle goes round again in other company.

    Those asked outside (`reference`) are told of the people of the first group, as if they sat among them, once a repetition:
    the level before a debate that Figs 4 and 8 of Taubenfeld et al. take over from the debates with a Default.
    """
    circles, groups = _circles(scenario), scenario.build_environment().groups()
    for topic in scenario.topics:
        for party in scenario.reference:
            for repetition in range(scenario.repetitions):
                room = f"{topic}/{REFERENCE} {party}/{repetition:03}"
                present = [place.persona.name for place in _places(groups[0].seats, repetition, circles)]
                places = _places((party,), repetition, circles)
                alone = tuple(name for name in present if name != places[0].persona.name)
                yield Table(room, topic, REFERENCE, repetition, places, alone)
        for group in groups:
            for repetition in range(scenario.repetitions):
                places = _places(group.seats, repetition, circles)
                names = tuple(place.persona.name for place in places)
                yield Table(f"{topic}/{group.name}/{repetition:03}", topic, group.name, repetition, places, names)


def _circles(scenario: Scenario) -> dict[str, list[Persona]]:
    circles = {party: list(load_personas(party)) for party in scenario.parties()}
    for party, circle in circles.items():
        stream(scenario.seed, "personas", party).shuffle(circle)
    return circles


def _places(seats: tuple[str, ...], repetition: int, circles: dict[str, list[Persona]]) -> tuple[Place, ...]:
    """Who sits there: every further seat of a party one further on its circle; each lap, parties and seats are shifted more."""
    sizes, taken, places = Counter(seats), Counter[str](), []
    for party in seats:
        circle = circles[party]
        lap = repetition // min(len(circles[seat]) for seat in seats if seat != DEFAULT or set(seats) == {DEFAULT})
        shift = lap * list(sizes).index(party) + taken[party] * (1 + lap)
        taken[party] += 1
        label = f"{party} {taken[party]}" if sizes[party] > 1 else party
        places.append(Place(label, circle[(repetition + shift) % len(circle)]))
    if len({place.persona.id for place in places}) < len(places):
        known = ", ".join(f"{len(circles[party])} {party}" for party in sizes)
        raise UserError(f"too few personas ({known}) for {len(seats)} different people in repetition {repetition + 1}")
    return tuple(places)
