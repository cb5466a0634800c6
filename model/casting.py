"""Who sits where: repetitions are rooms of one population, each with its own personas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, cast

from parley.agents.persona import DEFAULT, Persona, load_personas, party_of, persona_set, rename_persona
from parley.environments._social_graph import Links
from parley.environments.base import Group, Networked
from parley.environments.graphs import Node
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream
from parley.model.scenario import Scenario

REFERENCE = "reference"
"""The group of those who are asked once, before the debates, and take no part."""


NO_WEIGHTS: Mapping[tuple[int, int], float] = {}


class SeatPlace(NamedTuple):
    """One seat: its label in the group and who sits there.

    The label is `republican` when it is alone of its kind, else `republican 2`; with a variant of it `republican male`.
    """

    seat: str
    persona: Persona


class RoomSeating(NamedTuple):
    """One room before the agents exist. `present` are those that each of them is told of, itself among them.

    `episode` numbers the rooms in which the same people sit on drawn questions (from 0). `links` say who of a network hears whom
    at the start, by the number of the place; `nodes` and `weights` are those of a graph from a file.
    """

    room: str
    topic: str
    group: str
    repetition: int
    places: tuple[SeatPlace, ...]
    present: tuple[Persona, ...]
    episode: int = 0
    mediated: bool = False
    links: Links | None = None
    nodes: tuple[Node, ...] = ()
    weights: Mapping[tuple[int, int], float] = NO_WEIGHTS

    @property
    def session(self) -> str:
        """The sitting that this room is an episode of."""
        return f"{self.group}/{self.repetition:03}"


SeatChooser = Callable[[Group, int], tuple[SeatPlace, ...]]


def seat_rooms(scenario: Scenario) -> Iterator[RoomSeating]:
    """Every room of the scenario: topic by topic, group by group, repetition by repetition.

    Persona choice depends on the seed, the party, the repetition and the seat alone: the same people meet on every topic,
    and in a group with and without a Default. Members of one party are taken around a random circle of its personas, so that
    over as many repetitions as there are personas each has every seat of its party once and no persona meets itself (D5 row 2:
    a seeded derangement); parties of different sizes go around at their own pace. The variants of a party go round one circle:
    the same people as men and as women. With more repetitions the circle goes round again in other company. With a fixed cast
    the first, second, ... persona of a party has its first, second, ... seat in every repetition (the UCL study's Sam, Alex and
    Taylor). With a listed cast the next repetition takes the personas that come next in the file: the same people in a
    repetition, whatever the seed and the variant.

    A drawn cast may hold a persona more than once: the seats of a party are dealt all of its personas in a random order, then
    all of them in another, and so on; whoever bears a name that somebody has already gets a second one
    (agents.persona.rename_persona).

    With copies one person, that of the first seat on the circle, has every seat, under a name of its own in each.

    Those asked outside (`reference`) are told of the people of the first group, as if they sat among them, once a repetition:
    the level before a debate that Figs 4 and 8 of Taubenfeld et al. take over from the debates with a Default.
    """
    seat, groups = _seat_chooser(scenario), scenario.groups
    if scenario.subject.questions:
        yield from _seat_episodes(scenario, seat)
        return
    for topic in scenario.subject.topics:
        for party in scenario.people.reference:
            for repetition in range(scenario.repetitions):
                room = f"{topic}/{REFERENCE} {party}/{repetition:03}"
                present = [] if groups[0].networked else [place.persona for place in seat(groups[0], repetition)]
                places = seat(Group("", (party,)), repetition)
                alone = tuple(persona for persona in present if persona.name != places[0].persona.name)
                yield RoomSeating(room, topic, REFERENCE, repetition, places, alone)
        for group in groups:
            for repetition in range(scenario.repetitions):
                seating = _room_seating(topic, group, repetition, seat(group, repetition))
                yield _with_links(scenario, group, seating) if group.networked else seating


def personas_seated(scenario: Scenario) -> set[str]:
    """The ids of the personas that sit in a debate, in any repetition. Errors: UserError where a group cannot be seated."""
    seat, groups = _seat_chooser(scenario), scenario.groups
    rooms = [seat(group, repetition) for group in groups for repetition in range(scenario.repetitions)]
    return {place.persona.id for room in rooms for place in room}


def first_links(scenario: Scenario, group: Group, repetition: int) -> Links:
    """The links of a network at its start. Errors: UserError where the graph cannot be made."""
    environment = cast(Networked, scenario.environment)
    try:
        pairs = environment.links(group.seats, stream(scenario.seed, "graph", group.name, repetition))
    except ValueError as error:
        raise UserError(f"environment {scenario.environment_spec.name}: {error}") from error
    return Links(range(len(group.seats)), pairs)


def _with_links(scenario: Scenario, group: Group, seating: RoomSeating) -> RoomSeating:
    """A table with its links, and what a graph of the user's tells of its nodes: by the same draws."""
    links, environment = first_links(scenario, group, seating.repetition), scenario.environment
    if not getattr(environment, "own_graph", False):
        return seating._replace(links=links)
    draws = [stream(scenario.seed, "graph", group.name, seating.repetition) for _ in range(2)]
    of_file: Any = environment
    nodes, weights = of_file.nodes(group.seats, draws[0]), of_file.weights(group.seats, draws[1])
    return seating._replace(links=links, nodes=nodes, weights=weights)


def check_files(scenario: Scenario) -> None:
    """Errors: UserError where a graph of the user's does not fit, before anything is made."""
    environment = scenario.environment
    for group in environment.groups() if getattr(environment, "own_graph", False) else ():
        first_links(scenario, group, 0)
        _seat_chooser(scenario)(group, 0)


def _seat_episodes(scenario: Scenario, seat: SeatChooser) -> Iterator[RoomSeating]:
    """Group by group, repetition by repetition: the questions of a session are drawn, all different."""
    pool = [one.id for one in scenario.subject.question_pool]
    for group in scenario.groups:
        for repetition in range(scenario.repetitions):
            drawn = stream(scenario.seed, "questions", group.name, repetition).sample(pool, scenario.subject.episodes)
            for episode, question in enumerate(drawn):
                yield _room_seating(question, group, repetition, seat(group, repetition), episode)


def _room_seating(
    topic: str, group: Group, repetition: int, places: tuple[SeatPlace, ...], episode: int = 0
) -> RoomSeating:
    present = tuple(place.persona for place in places)
    room = f"{topic}/{group.name}/{repetition:03}"
    return RoomSeating(room, topic, group.name, repetition, places, present, episode, group.mediated)


def _seat_chooser(scenario: Scenario) -> SeatChooser:
    """Return the function that seats a group in a repetition. Errors: UserError where a persona of a graph has no seat."""
    circles, seat = _personas_by_kind(scenario), _chooser_for_cast(scenario, _personas_by_kind(scenario))
    for group in scenario.groups:
        if group.people:
            named = _personas_named(group, circles)
            taken = {person.id for person in named.values()}
            free = {kind: [one for one in circle if one.id not in taken] or circle for kind, circle in circles.items()}
            return partial(_seat_named_then_others, named, _chooser_for_cast(scenario, free))
    return seat


def _personas_named(group: Group, circles: dict[str, list[Persona]]) -> dict[int, Persona]:
    """The persona of each seat that is for one. Errors: UserError where there is none of the name, or two seats have it."""
    found: dict[int, Persona] = {}
    for number, (seat, name) in enumerate(zip(group.seats, group.people, strict=True)):
        if not name:
            continue
        known = {one.name: one for one in circles[seat]}
        if name not in known:
            raise unknown_name(f"persona of {seat} in the graph", name, known)
        if known[name] in found.values():
            raise UserError(
                f"two nodes of the graph are for the persona {name} of {seat}: name another for one of them"
            )
        found[number] = known[name]
    return found


def _seat_named_then_others(
    named: Mapping[int, Persona], seat: SeatChooser, group: Group, repetition: int
) -> tuple[SeatPlace, ...]:
    """The named have their seats; the others are cast, under a further name where they bear one of theirs."""
    rest = Group(group.name, tuple(kind for number, kind in enumerate(group.seats) if number not in named))
    others = iter([place.persona for place in seat(rest, repetition)] if rest.seats else [])
    people = [named[number] if number in named else next(others) for number in range(len(group.seats))]
    bearers, places = Counter(person.name for person in named.values()), []
    for number, (label, person) in enumerate(zip(group.labels, people, strict=True)):
        mine = person if number in named else rename_persona(person, bearers[person.name])
        bearers[person.name] += number not in named
        places.append(SeatPlace(label, mine))
    return tuple(places)


def _chooser_for_cast(scenario: Scenario, circles: dict[str, list[Persona]]) -> SeatChooser:
    """Return the function that seats a group by the field `cast`, from the personas of each kind of seat."""
    groups = scenario.groups
    if scenario.people.cast in ("fixed", "listed"):
        ahead = int(scenario.people.cast == "listed")
        return lambda group, repetition: _seat_by_file_order(group.seats, ahead * repetition, circles)
    if scenario.people.cast == "drawn":
        return lambda group, repetition: _seat_drawn(scenario.seed, group, repetition, circles)
    if scenario.people.cast == "copies":
        return lambda group, repetition: _seat_copies(group, repetition, circles)
    if scenario.people.cast == "circle":
        return lambda group, repetition: _seat_around_circles(group.seats, repetition, circles)
    before, taken = dict[str, Counter[str]](), Counter[str]()
    for group in groups:
        before[group.name] = taken.copy()
        taken.update(group.seats)
    return lambda group, repetition: (
        _seat_fresh(scenario.seed, group, repetition, circles, before[group.name], taken)
        if group.name in before
        else _seat_around_circles(group.seats, repetition, circles)
    )


def _personas_by_kind(scenario: Scenario) -> dict[str, list[Persona]]:
    folder = persona_set(scenario.people.personas)
    circles = {seat: list(load_personas(seat, folder)) for seat in scenario.seats}
    if scenario.people.cast in ("circle", "copies"):
        for seat, circle in circles.items():
            stream(scenario.seed, "personas", party_of(seat)).shuffle(circle)
    return circles


def _seat_around_circles(
    seats: tuple[str, ...], repetition: int, circles: dict[str, list[Persona]]
) -> tuple[SeatPlace, ...]:
    """Who sits there: every further seat of a party a stride further on its circle, the stride another one on each lap.

    Once all combinations of places on the circles have met (the least common multiple of their sizes), parties shift against
    each other. A shift or stride changes only at the end of a lap, so each seat has each persona of its party once a lap,
    whatever the sizes. The Default's circle follows the others: its personas differ in their names alone.
    """
    sizes, taken, places = Counter(map(party_of, seats)), Counter[str](), []
    views = [seat for seat in seats if party_of(seat) != DEFAULT] or seats
    common = math.lcm(*[len(circles[seat]) for seat in views])
    for seat, label in zip(seats, Group("", seats).labels, strict=True):
        circle, party = circles[seat], party_of(seat)
        strides = _strides(len(circle), sizes[party])
        shift = repetition // math.lcm(common, len(circle)) * list(sizes).index(party)
        shift += taken[party] * strides[repetition // len(circle) % len(strides)]
        taken[party] += 1
        places.append(SeatPlace(label, circle[(repetition + shift) % len(circle)]))
    _refuse_namesakes(places, seats, repetition, circles)
    return tuple(places)


@cache
def _strides(size: int, seats: int) -> tuple[int, ...]:
    """The strides by which so many seats on a circle never meet, the smallest first.

    >>> _strides(6, 3)
    (1, 2, 4, 5)
    """
    return tuple([one for one in range(1, size) if size // math.gcd(one, size) >= min(seats, size)]) or (0,)


def _refuse_namesakes(
    places: list[SeatPlace], seats: tuple[str, ...], repetition: int, circles: dict[str, list[Persona]]
) -> None:
    """Errors: UserError where two of one name would meet: a party has too few personas, or a name comes twice."""
    if len({place.persona.name for place in places}) == len(places):
        return
    if len({(place.persona.party, place.persona.name) for place in places}) < len(places):
        known = ", ".join(f"{len(circles[seat])} {seat}" for seat in dict.fromkeys(seats))
        raise UserError(
            f"too few personas ({known}) for {len(seats)} different people in repetition {repetition + 1}; "
            "cast=drawn seats a persona more than once"
        )
    (name, _), *_ = Counter(place.persona.name for place in places).most_common(1)
    who = " and ".join(place.seat for place in places if place.persona.name == name)
    raise UserError(
        f"two people called {name} ({who}) would meet in repetition {repetition + 1}: "
        "rename one of them, or set cast=drawn, which gives the second a further name"
    )


def _seat_fresh(
    seed: int,
    group: Group,
    repetition: int,
    circles: dict[str, list[Persona]],
    before: Counter[str],
    all_: Counter[str],
) -> tuple[SeatPlace, ...]:
    """Nobody sits again before everybody has sat; each lap is in an order of its own. Who would be left over sits it out.

    before, all_: seats of each party in the groups before this one, and in all groups, of one repetition.
    """
    taken, places = Counter[str](), []
    for party, label in zip(group.seats, group.labels, strict=True):
        people, need = circles[party], all_[party]
        if need > len(people):
            raise UserError(f"too few personas ({len(people)} {party}) for {need} seats with a fresh cast")
        lap, turn = divmod(repetition, len(people) // need)
        order = stream(seed, "personas", party, "lap", lap).sample(people, len(people))
        places.append(SeatPlace(label, order[turn * need + before[party] + taken[party]]))
        taken[party] += 1
    if len({place.persona.name for place in places}) < len(places):
        raise UserError(f"two people of one name would meet in repetition {repetition + 1}; give another seed or cast")
    return tuple(places)


def _seat_drawn(seed: int, group: Group, repetition: int, circles: dict[str, list[Persona]]) -> tuple[SeatPlace, ...]:
    """Lap by lap all personas of a party in an order of its own; nobody bears a name that is taken."""
    taken, bearers, places = Counter[str](), Counter[str](), []
    laps: dict[tuple[str, int], list[Persona]] = {}
    for party, label in zip(group.seats, group.labels, strict=True):
        lap, turn = divmod(taken[party], len(circles[party]))
        if (party, lap) not in laps:
            rng = stream(seed, "personas", party, "drawn", repetition, lap)
            laps[party, lap] = rng.sample(circles[party], len(circles[party]))
        person = laps[party, lap][turn]
        places.append(SeatPlace(label, rename_persona(person, bearers[person.name])))
        taken[party] += 1
        bearers[person.name] += 1
    return tuple(places)


def _seat_copies(group: Group, repetition: int, circles: dict[str, list[Persona]]) -> tuple[SeatPlace, ...]:
    """One person in every seat, each time under another name; the person who has the first seat on the circle."""
    if len(set(group.seats)) > 1:
        raise UserError(f"cast=copies seats one person in every seat: name one party, not {', '.join(group.seats)}")
    person = circles[group.seats[0]][repetition % len(circles[group.seats[0]])]
    return tuple([SeatPlace(label, rename_persona(person, number)) for number, label in enumerate(group.labels)])


def _seat_by_file_order(seats: tuple[str, ...], turn: int, people: dict[str, list[Persona]]) -> tuple[SeatPlace, ...]:
    """Return who sits there by the order of the persona file, whatever the seed; two Alexes never meet.

    In turn 0 the n-th seat of a party is its n-th persona's, whichever variant of it sits there. The next turn takes those who
    come next in the file, and begins again when too few are left.
    """
    sizes, taken, places = Counter(map(party_of, seats)), Counter[str](), []
    for seat, label in zip(seats, Group("", seats).labels, strict=True):
        party = party_of(seat)
        turns = len(people[seat]) // sizes[party]
        if not turns:
            raise UserError(
                f"too few personas for {len(seats)} seats with a fixed or listed cast: {len(people[seat])} {seat}"
            )
        places.append(SeatPlace(label, people[seat][turn % turns * sizes[party] + taken[party]]))
        taken[party] += 1
    return tuple(places)
