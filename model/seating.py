"""Who sits where: repetitions are rooms of one population, each with its own personas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from agents.persona import DEFAULT, Persona, load_personas, party_of, persona_set
from environments.base import Group
from llm.errors import UserError
from llm.randomness import stream
from model.scenario import Scenario

REFERENCE = "reference"
"""The group of those who are asked once, before the debates, and take no part."""


class Place(NamedTuple):
    """One seat: its label in the group and who sits there.

    The label is `republican` when it is alone of its kind, else `republican 2`; with a variant of it `republican male`.
    """

    seat: str
    persona: Persona


class Table(NamedTuple):
    """One room before the agents exist. `present` are those that each of them is told of, itself among them."""

    room: str
    topic: str
    group: str
    repetition: int
    places: tuple[Place, ...]
    present: tuple[Persona, ...]


def tables(scenario: Scenario) -> Iterator[Table]:
    """Every room of the scenario: topic by topic, group by group, repetition by repetition.

    Persona choice depends on the seed, the party, the repetition and the seat alone: the same people meet on every topic,
    and in a group with and without a Default. Members of one party are taken around a random circle of its personas, so that
    over as many repetitions as there are personas each has every seat of its party once and nobody meets itself (D5 row 2: a
    seeded derangement). With more repetitions the circle goes round again in other company. With a fixed cast the first, second,
    ... persona of a party has its first, second, ... seat in every repetition (the UCL study's Sam, Alex and Taylor).

    Those asked outside (`reference`) are told of the people of the first group, as if they sat among them, once a repetition:
    the level before a debate that Figs 4 and 8 of Taubenfeld et al. take over from the debates with a Default.
    """
    circles, groups = _circles(scenario), scenario.build_environment().groups()
    places_of = _cast if scenario.cast == "fixed" else _places
    for topic in scenario.topics:
        for party in scenario.reference:
            for repetition in range(scenario.repetitions):
                room = f"{topic}/{REFERENCE} {party}/{repetition:03}"
                present = [place.persona for place in places_of(groups[0].seats, repetition, circles)]
                places = places_of((party,), repetition, circles)
                alone = tuple(persona for persona in present if persona.name != places[0].persona.name)
                yield Table(room, topic, REFERENCE, repetition, places, alone)
        for group in groups:
            for repetition in range(scenario.repetitions):
                places = places_of(group.seats, repetition, circles)
                present_ = tuple(place.persona for place in places)
                yield Table(f"{topic}/{group.name}/{repetition:03}", topic, group.name, repetition, places, present_)


def _circles(scenario: Scenario) -> dict[str, list[Persona]]:
    folder = persona_set(scenario.personas)
    circles = {seat: list(load_personas(seat, folder)) for seat in scenario.seats()}
    if scenario.cast == "circle":
        for seat, circle in circles.items():
            stream(scenario.seed, "personas", seat).shuffle(circle)
    return circles


def _places(seats: tuple[str, ...], repetition: int, circles: dict[str, list[Persona]]) -> tuple[Place, ...]:
    """Who sits there: every further seat of a party one further on its circle; each lap, parties and seats are shifted more."""
    sizes, taken, places = Counter(seats), Counter[str](), []
    for party, label in zip(seats, Group("", seats).labels, strict=True):
        circle = circles[party]
        lap = repetition // min(len(circles[seat]) for seat in seats if seat != DEFAULT or set(seats) == {DEFAULT})
        shift = lap * list(sizes).index(party) + taken[party] * (1 + lap)
        taken[party] += 1
        places.append(Place(label, circle[(repetition + shift) % len(circle)]))
    if len({place.persona.name for place in places}) < len(places):
        known = ", ".join(f"{len(circles[party])} {party}" for party in sizes)
        raise UserError(f"too few personas ({known}) for {len(seats)} different people in repetition {repetition + 1}")
    return tuple(places)


def _cast(seats: tuple[str, ...], _: int, people: dict[str, list[Persona]]) -> tuple[Place, ...]:
    """The n-th seat of a party is its n-th persona's, whichever variant of it sits there: two Alexes never meet."""
    taken, places = Counter[str](), []
    for seat, label in zip(seats, Group("", seats).labels, strict=True):
        number = taken[party_of(seat)]
        if number >= len(people[seat]):
            raise UserError(f"too few personas for {len(seats)} seats with a fixed cast: {len(people[seat])} {seat}")
        places.append(Place(label, people[seat][number]))
        taken[party_of(seat)] += 1
    return tuple(places)
