"""A networked room: its links, a round of it as a conversation, and which posts are shown to whom.

`network_grid` shows the networked rooms as a space of Mesa, for drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from inspect import signature

import mesa
import networkx as nx
from mesa.discrete_space import Network as Cells

from parley.environments._social_graph import Links, Pairs, Post, SocialGraph
from parley.environments.base import Networked, Room
from parley.llm.driver import Conversation
from parley.llm.seeding import stream
from parley.model.casting import RoomSeating
from parley.model.events import Event, Heard, Linked, Node, Signed, Unlinked
from parley.model.interventions.base import View
from parley.model.room import RoomState
from parley.model.round import Spoken, run_round


def network_grid(model: mesa.Model, rooms: Iterable[tuple[RoomState, RoomSeating]]) -> Cells | None:
    """Return all networked rooms as one space of Mesa with the current links; None without networked rooms.

    Nodes are 0, 1, 2, ... as Mesa draws them, in the order of rooms and seats. A node has the attributes `agent` (its unique_id),
    `name` (the label of the node in the user's graph, else the name of the agent) and the attributes of the user's graph.
    An edge joins two agents if one hears the other.
    An agent that was removed from the model leaves its cell empty.
    """
    graph = nx.Graph()  # Mesa cannot draw a directed one
    place: dict[int, int] = {}
    for room, seating in rooms:
        if room.society:
            nodes = seating.nodes or [None] * len(room.members)
            for (number, agent), node in zip(room.members.items(), nodes, strict=True):
                place[number] = len(place)
                attributes = {**node.attributes, "name": node.name} if node else {"name": agent.name}
                graph.add_node(place[number], **{**attributes, "agent": number})
            graph.add_edges_from((place[hearer], place[heard]) for hearer, heard in room.society.links.pairs)
    if not graph:
        return None
    no_layout = (
        {"layout": None} if "layout" in signature(Cells).parameters else {}
    )  # in Mesa 3.5 a layout takes seconds
    cells = Cells(graph, random=model.random, **no_layout)
    for agent in model.agents:
        if agent.unique_id in place:
            agent.cell = cells[place[agent.unique_id]]
            agent.cell.add_agent(agent)
    return cells


def build_social_graph(seating: RoomSeating, ids: list[int], seed: int, attitude: View) -> SocialGraph | None:
    """Return the social graph of a networked room, with the ids of its agents; None for other rooms."""
    if seating.links is None:
        return None
    pairs = [(ids[source], ids[target]) for source, target in seating.links.pairs]
    draw, ties = partial(stream, seed, "network", seating.room), seating.ties.renamed(ids)
    return SocialGraph(Links(ids, pairs), attitude, draw, ties=ties, condition=seating.condition)


def initial_link_events(room: RoomState, seating: RoomSeating) -> Iterator[Event]:
    """Yield the nodes of a graph of the user, then the links at the start."""
    ids = list(room.seats)
    for number, node in enumerate(seating.nodes):
        yield Node(room.id, ids[number], node.name, dict(node.attributes))
    if room.society:
        yield from _linked(room, room.society, 0, room.society.links.pairs)


def _linked(room: RoomState, society: SocialGraph, round_: int, pairs: Pairs) -> Iterator[Event]:
    """Yield the event of links that appear, with their weights; then their signs, if the graph of the user has signs."""
    ties = society.ties
    weights = tuple([ties.weights.get(pair) for pair in pairs]) if ties.weights else ()
    yield Linked(room.id, round_, pairs, weights)
    if signed := [pair for pair in pairs if pair in ties.signs]:
        yield Signed(room.id, round_, tuple(signed), tuple([ties.signs[pair] for pair in signed]))


def run_network_round(room: RoomState, environment: Networked, view: Room, form: str) -> Conversation[list[Event]]:
    """Run a round: links change, turns are taken, posts are shown, and the lines that each agent heard are recorded."""
    assert room.society is not None
    events, said = list(change_links(room, environment, view)), list[Spoken]()
    events += yield from run_round(room, environment.turns(view, room.round), form, said)
    if environment.lasting:
        _keep_posts(room, room.society, said, room.round - environment.lasting + 1, environment.by_text)
        _show_feeds(room, room.society, environment, view)
    for agent, heard in sorted(room.heard.items()):
        room.mark(events, 0, agent)
        events.append(Heard(room.id, room.round, agent, tuple(heard)))
    room.heard.clear()
    return events


def change_links(room: RoomState, environment: Networked, view: Room) -> Iterator[Event]:
    """Change the links before the turns of a round; yield the events of those that vanish, then of those that appear."""
    assert room.society is not None
    removed, added = environment.rewired(view, room.round)
    room.society.links.change(removed, added)
    if removed:
        yield Unlinked(room.id, room.round, removed)
    if added:
        yield from _linked(room, room.society, room.round, added)


def _keep_posts(room: RoomState, society: SocialGraph, lines: Sequence[Spoken], since: int, by_text: bool) -> None:
    """Put the lines of this round on the wall; posts from before the round `since` are dropped."""
    society.wall.keep([Post(line.iteration, line.turn.speaker, room.round) for line in lines], since)
    room.posts |= {line.iteration: (room.members[line.turn.speaker].name, line.text, line.form) for line in lines}
    room.posts = {iteration: room.posts[iteration] for iteration in society.wall.posts}
    if by_text:
        for line in lines:
            room.words.add(line.iteration, line.turn.speaker, line.text)
        room.words.keep(society.wall.posts)


def _show_feeds(room: RoomState, society: SocialGraph, environment: Networked, view: Room) -> None:
    """Let every agent read its feed. The best post comes last, so that a short memory keeps it."""
    for feed in list(environment.feeds(view, room.round)):
        if room.members[feed.reader].absent:
            continue
        society.wall.show(feed)
        for iteration in reversed(feed.iterations):
            if not room.owns(feed.reader):
                break
            room.members[feed.reader].hear(*room.posts[iteration])
            room.heard[feed.reader].append(iteration)
