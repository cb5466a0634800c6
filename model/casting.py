"""Decides which personas sit in which room. Repetitions are rooms of one population, each with its own personas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple, cast

from parley.agents.persona import Persona, add_history, load_personas, party_of, rename_persona
from parley.agents.society import DEFAULT
from parley.environments._social_graph import Links
from parley.environments.base import Group, Networked
from parley.environments.graphs import HISTORY, Node
from parley.environments.link_attributes import NO_TIES, Ties
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream
from parley.model.scenario import Scenario

REFERENCE = "reference"
"""The group of agents who are surveyed once, before the debates, and take no part."""


class SeatPlace(NamedTuple):
    """A seat, by its label in the group, and the persona that sits there.

    The label is `labour` for the only labour, else `labour 2`; with a variant, `labour male`.
    """

    seat: str
    persona: Persona


Places = tuple[SeatPlace, ...]


class RoomSeating(NamedTuple):
    """A room before its agents are made. `present` are the personas that each agent knows about, itself included.

    `episode` counts from 0 the rooms in which the same people deliberate on drawn questions. `links` are those of a network at
    its start, by the number of the place; `condition` is that of the group; `nodes` and `ties` are those of a graph of the user.
    """

    room: str
    topic: str
    group: str
    repetition: int
    places: Places
    present: tuple[Persona, ...]
    episode: int = 0
    mediated: bool = False
    links: Links | None = None
    condition: str = ""
    nodes: tuple[Node, ...] = ()
    ties: Ties = NO_TIES

    @property
    def session(self) -> str:
        """The session that this room is an episode of."""
        return f"{self.group}/{self.repetition:03}"


Circles = Mapping[str, Sequence[Persona]]
"""The personas of each kind of seat (`labour`, or `labour:female`): on a random circle, or in the order of the file."""
SeatChooser = Callable[[Group, int], Places]
"""Seats a group in a repetition."""


def seat_rooms(scenario: Scenario) -> Iterator[RoomSeating]:
    """Yield every room of the scenario: topic by topic, group by group, repetition by repetition.

    Who sits in a room depends only on the seed, the party, the repetition and the seat. So the same people meet on every topic,
    and in a group with and without a Default. The field `cast` chooses the rule:

    circle  The members of a party are taken around a random circle of its personas. Over as many
            repetitions as there are personas, each persona has every seat of its party once and never meets itself. Parties of
            different sizes go around at their own pace. The variants of a party share one circle: the same people as men and as
            women. With more repetitions the circle goes around again in other company.
    fresh   All personas of a party sit once, over all groups, before any of them sits again; each lap has another random order.
    fixed   The first, second, ... persona of a party has its first, second, ... seat in every repetition (the UCL study's Sam,
            Alex and Taylor).
    listed  As fixed, but the next repetition takes the next personas of the file, whatever the seed and the variant.
    drawn   The seats of a party are dealt all of its personas in a random order, then all of them in another order, and so on. A
            persona whose name is taken gets another name (agents.persona.rename_persona).
    copies  One person, that of the first seat on the circle, has every seat, under another name in each.

    With `fresh`, a `reference` has the personas of the file in turn.

    The prompts of the `reference` have the people of the first group, as if they sat among them, once per repetition:
    the level before a debate that Figs 4 and 8 of Taubenfeld et al. take over from the debates with a Default.
    """
    seat, groups, repetitions = _seat_chooser(scenario), scenario.groups, range(scenario.repetitions)
    if scenario.subject.questions:
        pool = [question.id for question in scenario.subject.question_pool]
        for group, repetition in product(groups, repetitions):
            rng = stream(scenario.seed, "questions", group.name, repetition)
            for episode, question in enumerate(rng.sample(pool, scenario.subject.episodes)):
                yield _room_seating(question, group, repetition, seat(group, repetition), episode)
        return
    for topic in scenario.subject.topic:
        for party, repetition in product(scenario.people.reference, repetitions):
            present = [] if groups[0].networked else [place.persona for place in seat(groups[0], repetition)]
            places = seat(Group("", (party,)), repetition)
            others = tuple([persona for persona in present if persona.name != places[0].persona.name])
            room = f"{topic}/{REFERENCE} {party}/{repetition:03}"
            yield RoomSeating(room, topic, REFERENCE, repetition, places, others)
        for group, repetition in product(groups, repetitions):
            seating = _room_seating(topic, group, repetition, seat(group, repetition))
            yield _with_links(scenario, group, seating) if group.networked else seating


def personas_seated(scenario: Scenario) -> set[str]:
    """Return the ids of the personas that sit in any debate. Errors: UserError where a group cannot be seated."""
    seat, seated = _seat_chooser(scenario), set[str]()
    seats = {seat for group in scenario.groups for seat in group.seats}
    everyone = {persona.id for seat in seats for persona in load_personas(seat, scenario.persona_folder)}
    for group, repetition in product(scenario.groups, range(scenario.repetitions)):
        seated |= {place.persona.id for place in seat(group, repetition)}
        if seated == everyone:  # the first room of a large network seats them all
            break
    return seated


def first_links(scenario: Scenario, group: Group, repetition: int) -> Links:
    """Return the links of a network at its start. Errors: UserError where the graph cannot be made."""
    environment = cast(Networked, scenario.environment)
    try:
        pairs = environment.links(group.seats, stream(scenario.seed, "graph", group.people_name, repetition))
    except ValueError as error:
        raise UserError(f"environment {scenario.environment_spec.name}: {error}") from error
    return Links(range(len(group.seats)), pairs)


def check_seats(scenario: Scenario, group: Group) -> None:
    """Errors: UserError where a group cannot be seated."""
    _seat_chooser(scenario)(group, 0)


def _room_seating(topic: str, group: Group, repetition: int, places: Places, episode: int = 0) -> RoomSeating:
    present = tuple([place.persona for place in places])
    room = f"{topic}/{group.name}/{repetition:03}"
    return RoomSeating(room, topic, group.name, repetition, places, present, episode, group.mediated)


def _with_links(scenario: Scenario, group: Group, seating: RoomSeating) -> RoomSeating:
    """The room with its links, and with the nodes and ties of a graph of the user, from the same random draws."""
    environment: Any = scenario.environment
    links = first_links(scenario, group, seating.repetition)
    seating = seating._replace(links=links, condition=group.condition)
    if not getattr(environment, "own_graph", False):
        return seating
    draws = [stream(scenario.seed, "graph", group.people_name, seating.repetition) for _ in range(2)]
    nodes, ties = environment.nodes(group.seats, draws[0]), environment.ties(group.seats, draws[1])
    if any(HISTORY in node.attributes for node in nodes):
        language = scenario.society.language
        places = [
            place._replace(persona=add_history(place.persona, str(node.attributes.get(HISTORY, "")), language))
            for place, node in zip(seating.places, nodes, strict=True)
        ]
        seating = seating._replace(places=tuple(places), present=tuple([place.persona for place in places]))
    return seating._replace(nodes=nodes, ties=ties)


def _seat_chooser(scenario: Scenario) -> SeatChooser:
    """Return the function that seats a group in a repetition. Errors: UserError where a persona of a graph has no seat."""
    circles = _personas_by_kind(scenario)
    for group in scenario.groups:
        if group.people:
            named = _personas_named(group, circles)
            taken = {person.id for person in named.values()}
            free = {
                kind: [persona for persona in circle if persona.id not in taken] or circle
                for kind, circle in circles.items()
            }
            return partial(_seat_named_then_others, named, _chooser_for_cast(scenario, free))
    return _chooser_for_cast(scenario, circles)


def _personas_named(group: Group, circles: Circles) -> dict[int, Persona]:
    """The persona of each seat that names one, by name or id. Errors: UserError for an unknown one, and for one of two seats."""
    personas: dict[int, Persona] = {}
    for number, (seat, name) in enumerate(zip(group.seats, group.people, strict=True)):
        if not name:
            continue
        by_name = {persona.name: persona for persona in circles[seat]}
        person = {persona.id: persona for persona in circles[seat]}.get(name) or by_name.get(name)
        if person is None:
            raise unknown_name(f"persona of {seat} in the graph", name, by_name)
        if person in personas.values():
            raise UserError(
                f"two nodes of the graph have the persona {name} of {seat}: give one of the nodes another persona"
            )
        personas[number] = person
    return personas


def _seat_named_then_others(named: Mapping[int, Persona], seat: SeatChooser, group: Group, repetition: int) -> Places:
    """Give the named personas their seats, then cast the others, who get another name where theirs is taken."""
    rest = Group(group.name, tuple(kind for number, kind in enumerate(group.seats) if number not in named))
    others = iter(seat(rest, repetition) if rest.seats else ())
    names, places = Counter(person.name for person in named.values()), []
    for number, label in enumerate(group.labels):
        if (person := named.get(number)) is None:
            other = next(others).persona
            person = rename_persona(other, names[other.name])
            names[other.name] += 1
        places.append(SeatPlace(label, person))
    return tuple(places)


def _chooser_for_cast(scenario: Scenario, circles: Circles) -> SeatChooser:
    """Return the function that seats a group by the field `cast`, from the personas of each kind of seat."""
    rule, seed = scenario.people.cast, scenario.seed
    if rule in ("fixed", "listed"):
        step, block = int(rule == "listed"), scenario.people.block
        return lambda group, repetition: _seat_by_file_order(group.seats, step * repetition, circles, block)
    if rule == "drawn":
        return lambda group, repetition: _seat_drawn(seed, group, repetition, circles)
    if rule == "copies":
        return lambda group, repetition: _seat_copies(group, repetition, circles)
    if rule == "circle":
        return lambda group, repetition: _seat_around_circles(group.seats, repetition, circles)
    before, total = dict[str, Counter[str]](), Counter[str]()
    for group in scenario.groups:
        before[group.name] = total.copy()
        total.update(group.seats)
    return lambda group, repetition: (
        _seat_fresh(seed, group, repetition, circles, before[group.name], total)
        if group.name in before
        else _seat_around_circles(group.seats, repetition, circles)
    )


def _personas_by_kind(scenario: Scenario) -> dict[str, list[Persona]]:
    folder = scenario.persona_folder
    circles = {seat: list(load_personas(seat, folder)) for seat in scenario.seats}
    if scenario.people.cast in ("circle", "copies"):
        for seat, circle in circles.items():
            stream(scenario.seed, "personas", party_of(seat)).shuffle(circle)
    return circles


def _numbered(seats: Sequence[str], kind: Callable[[str], str] = party_of) -> Iterator[tuple[str, str, int]]:
    """Yield each seat, its label, and its number among the seats of its kind (its party, unless `kind` says otherwise)."""
    counts = Counter[str]()
    for seat, label in zip(seats, Group("", tuple(seats)).labels, strict=True):
        yield seat, label, counts[kind(seat)]
        counts[kind(seat)] += 1


def _seat_around_circles(seats: tuple[str, ...], repetition: int, circles: Circles) -> Places:
    """Take every further seat of a party a stride further on its circle, with another stride on each lap.

    Once all combinations of places on the circles have met (the least common multiple of their sizes), parties shift against
    each other. A shift or stride changes only at the end of a lap, so each seat has each persona of its party once a lap,
    whatever the sizes. The Default's circle follows the others: its personas differ only in their names.
    """
    sizes, places = Counter(map(party_of, seats)), []
    partisan = [seat for seat in seats if party_of(seat) != DEFAULT] or seats
    common = math.lcm(*[len(circles[seat]) for seat in partisan])
    for seat, label, number in _numbered(seats):
        circle, party = circles[seat], party_of(seat)
        strides = _strides(len(circle), sizes[party])
        shift = repetition // math.lcm(common, len(circle)) * list(sizes).index(party)
        shift += number * strides[repetition // len(circle) % len(strides)]
        places.append(SeatPlace(label, circle[(repetition + shift) % len(circle)]))
    _refuse_namesakes(places, seats, repetition, circles)
    return tuple(places)


@cache
def _strides(size: int, seats: int) -> tuple[int, ...]:
    """Return the strides by which so many seats on a circle never meet, the smallest first.

    >>> _strides(6, 3)
    (1, 2, 4, 5)
    """
    return tuple([step for step in range(1, size) if size // math.gcd(step, size) >= min(seats, size)]) or (0,)


def _refuse_namesakes(places: Sequence[SeatPlace], seats: tuple[str, ...], repetition: int, circles: Circles) -> None:
    """Errors: UserError where two people of one name would meet: a party has too few personas, or two have one name."""
    if len({place.persona.name for place in places}) == len(places):
        return
    if len({(place.persona.party, place.persona.name) for place in places}) < len(places):
        counts = ", ".join(f"{len(circles[seat])} {seat}" for seat in dict.fromkeys(seats))
        raise UserError(
            f"too few personas ({counts}) for {len(seats)} different agents in repetition {repetition + 1}: "
            "set cast=drawn, which may use a persona more than once, or add personas"
        )
    (name, _), *_ = Counter(place.persona.name for place in places).most_common(1)
    who = " and ".join(place.seat for place in places if place.persona.name == name)
    raise UserError(
        f"two personas called {name} ({who}) would meet in repetition {repetition + 1}: "
        "rename one of them, or set cast=drawn, which gives one of them a second name"
    )


def _seat_fresh(
    seed: int, group: Group, repetition: int, circles: Circles, before: Counter[str], total: Counter[str]
) -> Places:
    """Seat all personas of a party before any sits again, each lap in another order. Those left over at its end do not sit.

    before, total: seats of each party in the groups before this one, and in all groups, of one repetition.
    """
    places = []
    for party, label, number in _numbered(group.seats, str):
        people, need = circles[party], total[party]
        if need > len(people):
            raise UserError(
                f"too few personas ({len(people)} {party}) for {need} seats with "
                "cast=fresh: set cast=drawn, or add personas"
            )
        lap, turn = divmod(repetition, len(people) // need)
        order = stream(seed, "personas", party, "lap", lap).sample(people, len(people))
        places.append(SeatPlace(label, order[turn * need + before[party] + number]))
    if len({place.persona.name for place in places}) < len(places):
        raise UserError(
            f"two personas of the same name would meet in repetition {repetition + 1}: "
            "give another --seed, or set another cast"
        )
    return tuple(places)


def _seat_drawn(seed: int, group: Group, repetition: int, circles: Circles) -> Places:
    """Deal all personas of a party in a random order, lap by lap; a persona whose name is taken gets another name."""
    names, places = Counter[str](), []

    @cache
    def order(party: str, lap: int) -> list[Persona]:
        rng = stream(seed, "personas", party, "drawn", repetition, lap)
        return rng.sample(circles[party], len(circles[party]))

    for party, label, number in _numbered(group.seats, str):
        lap, turn = divmod(number, len(circles[party]))
        person = order(party, lap)[turn]
        places.append(SeatPlace(label, rename_persona(person, names[person.name])))
        names[person.name] += 1
    return tuple(places)


def _seat_copies(group: Group, repetition: int, circles: Circles) -> Places:
    """Seat one person, that of the first seat on the circle, in every seat, each time under another name."""
    if len(set(group.seats)) > 1:
        raise UserError(
            "cast=copies gives the same persona to every seat, so all seats must be of one party, but they are "
            f"{', '.join(group.seats)}"
        )
    circle = circles[group.seats[0]]
    person = circle[repetition % len(circle)]
    return tuple([SeatPlace(label, rename_persona(person, number)) for number, label in enumerate(group.labels)])


def _seat_by_file_order(seats: tuple[str, ...], turn: int, circles: Circles, block: int) -> Places:
    """Seat the personas in the order of the persona file, whatever the seed, so that two Alexes never meet.

    In turn 0 the n-th seat of a party has its n-th persona, in any variant. The next turn takes the next personas of the
    file, and begins again when too few are left. block: the personas of a party that belong to a turn, if more than its seats.
    """
    sizes, places = Counter(map(party_of, seats)), []
    for seat, label, number in _numbered(seats):
        size, people = max(sizes[party_of(seat)], min(block, len(circles[seat]))), circles[seat]
        if not (turns := len(people) // size):
            message = f"too few personas for {len(seats)} seats with cast=fixed or cast=listed; set cast=drawn, or add personas"
            raise UserError(f"{message}: {len(people)} {seat}")
        places.append(SeatPlace(label, people[turn % turns * size + number]))
    return tuple(places)
