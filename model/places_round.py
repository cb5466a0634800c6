"""People who meet in several places: who sits where in a stage, and a round of all places.

A table is a room within the room: its people, links and mediator are its own. All tables of a place debate at the same time; the
places of a stage follow one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from parley.agents.question import question_on
from parley.agents.resident import Company, Resident
from parley.environments._social_graph import Links, SocialGraph
from parley.environments.base import Environment, Networked, Room
from parley.environments.mediated import Mediated
from parley.environments.place_kinds import Place
from parley.environments.places import Span, seated
from parley.environments.platform import Platform
from parley.llm.driver import Conversation, ask_in_step
from parley.llm.errors import UserError
from parley.llm.seeding import stream
from parley.model.agent_factory import describe_others, mediator_of
from parley.model.events import Event, Gathered, Heard, Linked, Unlinked
from parley.model.network_round import run_network_round
from parley.model.platform_round import run_platform_round
from parley.model.room import RoomState
from parley.model.round import run_round

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

TABLES, ORDER = "tables", "order"
"""What a room keeps: the tables of its stage; and what a table keeps: the order that was drawn once for it."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a place. `order` counts the places of a stage from 0, `number` the tables of a place from 1.

    `name` tells its random streams from those of other tables; it is empty where there is only one table in all.
    """

    place: Place
    order: int
    number: int
    environment: Environment
    state: RoomState
    name: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(self.state.members)


def begin_stages(model: DebateModel, span: Span) -> list[tuple[RoomState, list[Event]]]:
    """Seat the people of all rooms that debate in a stage; return the events that say who sits where, by room."""
    rooms = model.clock.debating(model.debating_rooms, span.first)
    remember_topics(model.debating_rooms, rooms, model.clock.spans, span)
    return [(room, begin_stage(model, room, span)) for room in rooms]


def begin_stage(model: DebateModel, room: RoomState, span: Span) -> list[Event]:
    """Seat the people of a room for a stage: who is away, who sits where, whom each of them meets. Return the events."""
    if span.number > 1:
        _carry_over(model, room, span)
    _send_away(model, room, span)
    last_links = room.society.links.pairs if room.society else ()
    tables = list(_tables(model, room, span))
    room.kept[TABLES] = tables
    room.society = next((table.state.society for table in tables if table.state.society), None)
    for number, member in room.members.items():
        if isinstance(member, Resident):
            sits_at = [table for table in tables if number in table.state.members]
            member.place = " + ".join(f"{table.place.kind} {table.number}" for table in sits_at)
            if not member.away:
                member.enter([_company(model, table, number) for table in sits_at])
    round_ = room.round + 1 if room.round else 0
    events: list[Event] = [
        Gathered(room.id, round_, span.number, table.place.kind, table.number, table.members) for table in tables
    ]
    if last_links:
        events.append(Unlinked(room.id, round_, last_links))
    if room.society:
        events.append(Linked(room.id, round_, room.society.links.pairs))
    return events


def remember_topics(rooms: Sequence[RoomState], begun: Sequence[RoomState], spans: Sequence[Span], span: Span) -> None:
    """Give the people of the rooms that begin on another topic the memory of what they said and heard on the last one."""
    earlier = [before.stage.topic for before in spans[: span.number - 1] if before.stage.topic]
    if not span.stage.topic or not earlier or earlier[-1] == span.stage.topic:
        return
    last_rooms = {(room.group, room.repetition): room for room in rooms if room.topic == earlier[-1]}
    for room in begun:
        before = last_rooms[room.group, room.repetition]
        for member, same in zip(room.members.values(), before.members.values(), strict=True):
            if isinstance(member, Resident) and isinstance(same, Resident):
                member.recall(same.memory)
                member.absent = same.absent and not same.away  # who left on one topic is away from the next one


def run_places_round(model: DebateModel, room: RoomState, span: Span) -> Conversation[list[Event]]:
    """Run a round in all places of a stage; return its events, place by place and table by table."""
    events: list[Event] = []
    tables: list[Table] = room.kept[TABLES]
    for order in range(len(span.stage.places)):
        here = [table for table in tables if table.order == order]
        _count_turns(model, room, here, span)
        rounds = yield from ask_in_step([_table_round(model, table, span) for table in here])
        for table_events in rounds:
            events += table_events
        room.iteration = max([room.iteration, *[table.state.iteration for table in here]])
        events += [event for table in here if table.name for event in _heard(table)]
    return events


def _count_turns(model: DebateModel, room: RoomState, tables: Sequence[Table], span: Span) -> None:
    """Let each table count its turns on from those of the table before it, so that the record goes table by table."""
    turns = room.iteration
    for table in tables:
        table.state.iteration, table.state.round = turns, room.round
        if len(tables) > 1:  # a place with links has one table
            turns += sum(1 for _ in table.environment.turns(_view(model, table), _round_of_stage(model, span)))


def _carry_over(model: DebateModel, room: RoomState, span: Span) -> None:
    """Let people forget the stages before, or remember what another person of their party remembers, if the stage says so."""
    by_party: dict[str, list[Resident]] = defaultdict(list)
    for member in room.members.values():
        if isinstance(member, Resident):
            by_party[member.persona.party].append(member)
    for party, people in by_party.items():
        if span.stage.carry == "none":
            for person in people:
                person.forget()
        elif span.stage.carry == "swapped":  # a cycle, so that nobody keeps what it remembers, if there are two
            stream(model.setup.seed, "swapped", room.group, room.repetition, span.number, party).shuffle(people)
            memories = [person.memory for person in people]
            for person, memory in zip(people, [*memories[1:], *memories[:1]], strict=True):
                person.recall(memory)


def _send_away(model: DebateModel, room: RoomState, span: Span) -> None:
    """Let those come back who missed the last stage, and draw those who miss this one."""
    draw = stream(model.setup.seed, "away", room.group, room.repetition, span.number)
    people = list(room.members)
    away = set(draw.sample(people, round(span.stage.away * len(people))))
    for number, member in room.members.items():
        if isinstance(member, Resident):
            member.away = number in away


def _is_away(member: object) -> bool:
    return isinstance(member, Resident) and member.away


def _tables(model: DebateModel, room: RoomState, span: Span) -> Iterator[Table]:
    """Yield the tables of a stage, place by place."""
    parties = {number: member.persona.party for number, member in room.members.items() if not _is_away(member)}
    places = span.stage.places
    for order, place in enumerate(places):
        draw = stream(model.setup.seed, "places", room.group, room.repetition, span.number, order)
        who = [model.setup.society.seat(party) for party in place.who]
        groups = seated(place, parties, who, draw)
        alone = len(groups) == len(places) == len(model.clock.spans) == 1
        for number, members in enumerate(groups, 1):
            name = () if alone else (span.number, order, number)
            environment = _environment(place, span.number, [parties[member] for member in members])
            yield _table(model, room, Table(place, order, number, environment, _state_of(room, members), name))


def _environment(place: Place, stage: int, parties: Sequence[str]) -> Environment:
    """Return who hears whom at a table. Errors: UserError where these people are too few for it."""
    try:
        return place.environment(parties)
    except ValueError as error:
        raise UserError(f"{place.kind} in stage {stage}: {error}, in the topology") from error


def _state_of(room: RoomState, members: tuple[int, ...]) -> RoomState:
    """Return the state of a table of a room. Prompts, public lines and embeddings are kept with those of the room."""
    people = {number: room.members[number] for number in members}
    seats = {number: room.seats[number] for number in members}
    state = RoomState(room.id, room.topic, room.group, room.repetition, people, seats, room.context)
    state.last_sent, state.public_lines, state.vectors = room.last_sent, room.public_lines, room.vectors
    state.turn_probes = room.turn_probes
    return state


def _table(model: DebateModel, room: RoomState, table: Table) -> Table:
    """Give a table its links or its mediator, if it has any."""
    state, seed = table.state, model.setup.seed
    state.kept[ORDER] = _shuffled(model, table)
    if isinstance(table.environment, Mediated):
        state.mediator = mediator_of(model, question_on(model.setup.subject.topic_named(room.topic)), table.members)
    if hasattr(table.environment, "links"):
        members, network = table.members, cast(Networked, table.environment)
        seats = tuple([member.persona.party for member in state.members.values()])
        draw = stream(seed, "graph", room.group, room.repetition, *table.name)
        pairs = [(members[source], members[target]) for source, target in network.links(seats, draw)]
        own_draw = partial(stream, seed, "network", room.id, *table.name)
        state.society = SocialGraph(Links(members, pairs), model.previous_attitude, own_draw)
        state.society.likeness = state.words.likeness
    return table


def _company(model: DebateModel, table: Table, number: int) -> Company:
    """Return whom a member meets at a table, and what it is told of them."""
    members, setup = table.state.members, model.setup
    if table.state.mediator:
        return Company("mediated", (), len(members))
    society = table.state.society
    heard = list(society.links.hears[number]) if society else [other for other in members if other != number]
    others = [members[other].persona for other in heard]
    about = describe_others(others, setup.people, setup.society)
    names = tuple([persona.name for persona in others])
    if society is None:
        return Company("table", names, len(members), about=about)
    kind: Any = "medium" if isinstance(table.environment, Platform) else "network"
    return Company(kind, names, len(members), cast(Networked, table.environment).changing, about)


def _shuffled(model: DebateModel, table: Table, *name: int) -> tuple[int, ...]:
    """Return the people of a table in a random order, from the stream of this name."""
    order = list(table.members)
    stream(model.setup.seed, "order", table.state.id, *table.name, *name).shuffle(order)
    return tuple(order)


def _view(model: DebateModel, table: Table) -> Room:
    state = table.state
    return Room(table.members, state.kept[ORDER], partial(_shuffled, model, table, state.round), state.society)


def _round_of_stage(model: DebateModel, span: Span) -> int:
    """Return the round, counted from the beginning of the stage: a deliberation begins with opinions in each stage."""
    return model.round - span.first + 1


def _table_round(model: DebateModel, table: Table, span: Span) -> Conversation[list[Event]]:
    """The round of one table."""
    state, environment, view = table.state, table.environment, _view(model, table)
    form = model.setup.reply_form(state.round)
    if isinstance(environment, Platform):
        return run_platform_round(state, environment, view)
    if state.society:
        return run_network_round(state, cast(Networked, environment), view, form)
    return run_round(state, environment.turns(view, _round_of_stage(model, span)), form)


def _heard(table: Table) -> list[Event]:
    """Return what each member of a table heard in this round, for tables without links, whose rounds do not say it."""
    heard = sorted(table.state.heard.items())
    table.state.heard.clear()
    return [Heard(table.state.id, table.state.round, agent, tuple(lines)) for agent, lines in heard]
