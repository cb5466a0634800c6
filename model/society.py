"""A networked room: its links at the start and as they change, a round of it as a conversation, what was shown to whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from parley.environments._society import Links, Post, Society
from parley.environments.base import Networked, Room
from parley.llm.driver import Conversation
from parley.llm.randomness import stream
from parley.model.conversation import hold_round
from parley.model.events import Event, Heard, Linked, Node, Unlinked, Utterance
from parley.model.room import Desk, RoomState
from parley.model.seating import Table


def settle(table: Table, ids: list[int], seed: int, attitude: Callable[[int], float | None]) -> Society | None:
    """The society of a room, where it is a network: the people of its places by their ids."""
    if table.links is None:
        return None
    pairs = [(ids[source], ids[target]) for source, target in table.links.pairs]
    return Society(Links(ids, pairs), attitude, partial(stream, seed, "network", table.room))


def linked(room: RoomState, table: Table) -> Iterator[Event]:
    """The nodes of a graph from a file, then the graph at the start."""
    ids = list(room.seats)
    for number, node in enumerate(table.nodes):
        yield Node(room.id, ids[number], node.name, dict(node.attributes))
    if room.society:
        pairs, known = room.society.links.pairs, {id_: place for place, id_ in enumerate(ids)}
        weights = [table.weights.get((known[one], known[other])) for one, other in pairs] if table.weights else []
        yield Linked(room.id, 0, pairs, tuple(weights))


def hold_networked(
    room: RoomState, environment: Networked, view: Room, round_: int, desk: Desk, statement: str
) -> Conversation[list[Event]]:
    """One round: links change, the turns are held, what was posted is shown, and who heard what is recorded."""
    assert room.society is not None
    events = list(_rewired(room, room.society.links, *environment.rewired(view, round_), round_))
    events += yield from hold_round(room, environment.turns(view, round_), round_, desk, statement)
    if environment.lasting:
        _post(room, room.society, events, round_ - environment.lasting + 1)
        _show(room, room.society, environment, view, round_)
    events += [Heard(room.id, round_, agent, tuple(heard)) for agent, heard in sorted(room.heard.items())]
    room.heard.clear()
    return events


def _rewired(
    room: RoomState, links: Links, removed: tuple[Any, ...], added: tuple[Any, ...], round_: int
) -> Iterator[Event]:
    links.change(removed, added)
    if removed:
        yield Unlinked(room.id, round_, removed)
    if added:
        yield Linked(room.id, round_, added)


def _post(room: RoomState, society: Society, events: Iterable[Event], since: int) -> None:
    """Put what was said in this round on the wall."""
    said = [event for event in events if isinstance(event, Utterance) and event.text is not None]
    society.wall.keep([Post(one.iteration, one.agent, one.round) for one in said], since)
    room.said |= {one.iteration: (room.members[one.agent].name, one.text or "", one.form) for one in said}
    room.said = {iteration: room.said[iteration] for iteration in society.wall.posts}


def _show(room: RoomState, society: Society, environment: Networked, view: Room, round_: int) -> None:
    """Have everybody read its feed, the last of it the best, so that a short memory keeps that."""
    for feed in list(environment.feeds(view, round_)):
        if room.members[feed.reader].absent:
            continue
        society.wall.show(feed)
        for iteration in reversed(feed.iterations):
            room.members[feed.reader].hear(*room.said[iteration])
            room.heard[feed.reader].append(iteration)
