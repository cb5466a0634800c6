"""A networked room: its links at the start and as they change, a round of it as a conversation, what was shown to whom.

The networked rooms as a space of Mesa's, for drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import mesa
import networkx as nx
from mesa.discrete_space import Network as Cells

from parley.environments._social_graph import Links, Post, SocialGraph
from parley.environments.base import Networked, Room
from parley.llm.driver import Conversation
from parley.llm.seeding import stream
from parley.model.casting import RoomSeating
from parley.model.events import Event, Heard, Linked, Node, Unlinked, Utterance
from parley.model.room import RoomState, RunContext
from parley.model.round import run_round

if TYPE_CHECKING:
    from parley.model.agent_factory import SeatedAgent


def network_grid(model: mesa.Model, rooms: Iterable[RoomState], agents: dict[int, SeatedAgent]) -> Cells | None:
    """All networked rooms as one space of Mesa's, a cell a person, for drawing; None where there are none."""
    graph = nx.DiGraph()
    for room in rooms:
        if room.society:
            graph.add_nodes_from(room.members)
            graph.add_edges_from(room.society.links.pairs)
    if not graph:
        return None
    bare = {"layout": None} if "layout" in signature(Cells).parameters else {}  # Mesa 3.5 would lay it out, in seconds
    cells = Cells(graph, random=model.random, **bare)
    for cell in cells.all_cells:
        agents[cell.coordinate].cell = cell
        cell.add_agent(agents[cell.coordinate])
    return cells


def build_social_graph(
    seating: RoomSeating, ids: list[int], seed: int, attitude: Callable[[int], float | None]
) -> SocialGraph | None:
    """The society of a room, where it is a network: the people of its places by their ids."""
    if seating.links is None:
        return None
    pairs = [(ids[source], ids[target]) for source, target in seating.links.pairs]
    return SocialGraph(Links(ids, pairs), attitude, partial(stream, seed, "network", seating.room))


def initial_link_events(room: RoomState, seating: RoomSeating) -> Iterator[Event]:
    """The nodes of a graph from a file, then the graph at the start."""
    ids = list(room.seats)
    for number, node in enumerate(seating.nodes):
        yield Node(room.id, ids[number], node.name, dict(node.attributes))
    if room.society:
        pairs, known = room.society.links.pairs, {id_: place for place, id_ in enumerate(ids)}
        weights = [seating.weights.get((known[one], known[other])) for one, other in pairs] if seating.weights else []
        yield Linked(room.id, 0, pairs, tuple(weights))


def run_network_round(
    room: RoomState, environment: Networked, view: Room, round_: int, context: RunContext, statement: str
) -> Conversation[list[Event]]:
    """One round: links change, the turns are held, what was posted is shown, and who heard what is recorded."""
    assert room.society is not None
    events = list(_rewired(room, room.society.links, *environment.rewired(view, round_), round_))
    events += yield from run_round(room, environment.turns(view, round_), round_, context, statement)
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


def _post(room: RoomState, society: SocialGraph, events: Iterable[Event], since: int) -> None:
    """Put what was said in this round on the wall."""
    said = [event for event in events if isinstance(event, Utterance) and event.text is not None]
    society.wall.keep([Post(one.iteration, one.agent, one.round) for one in said], since)
    room.said |= {one.iteration: (room.members[one.agent].name, one.text or "", one.form) for one in said}
    room.said = {iteration: room.said[iteration] for iteration in society.wall.posts}


def _show(room: RoomState, society: SocialGraph, environment: Networked, view: Room, round_: int) -> None:
    """Have everybody read its feed, the last of it the best, so that a short memory keeps that."""
    for feed in list(environment.feeds(view, round_)):
        if room.members[feed.reader].absent:
            continue
        society.wall.show(feed)
        for iteration in reversed(feed.iterations):
            room.members[feed.reader].hear(*room.said[iteration])
            room.heard[feed.reader].append(iteration)
