"""Periods, signs and weights of links: read, united, and followed from round to round."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from data_checks import check_each

from parley.environments._social_graph import Links, SocialGraph
from parley.environments.base import Room
from parley.environments.given_graph import Given
from parley.environments.link_attributes import Spell, Ties, read_ties, simple_graph, spells_of
from parley.environments.network import Network


@check_each(
    ("data", "spells"),
    [
        ({}, [(None, None)]),
        ({"start": 2}, [(2, None)]),
        ({"start": "2", "end": 3.0}, [(2, 3)]),
        ({"spells": "1-2 5-"}, [(1, 2), (5, None)]),
        ({"spells": "5- 1-2"}, [(1, 2), (5, None)]),
        ({"spells": "1-2 3-4"}, [(1, 4)]),
        ({"spells": "1-9 3-4"}, [(1, 9)]),
        ({"spells": "-2 2-"}, [(None, None)]),
        ({"spells": [(1, 2), (4, None)]}, [(1, 2), (4, None)]),
    ],
)
def test_periods_are_read_in_order_and_without_overlap(
    data: dict[str, object], spells: list[tuple[int | None, int | None]]
) -> None:
    assert spells_of(data) == tuple(Spell(*one) for one in spells)


@check_each(
    ("data", "words"),
    [
        ({"start": "2001-05-01"}, "start is '2001-05-01', but must be the number of a round"),
        ({"end": -1}, "end is -1, but must be the number of a round"),
        ({"start": float("nan")}, "start is nan, but must be the number of a round"),
        ({"spells": "early"}, "spells is 'early', but must be periods such as 1-2 5-"),
        ({"spells": ""}, "spells is '', but must be periods"),
        ({"spells": "3-2"}, "its end, 2, is before its start, 3"),
    ],
)
def test_a_period_that_cannot_be_is_refused(data: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spells_of(data)


def test_parallel_links_are_one_link_with_all_their_periods() -> None:
    """A list of contacts names a pair once for each contact; networkx alone would keep the last."""
    many = nx.MultiGraph()
    many.add_edge("a", "b", start=1, end=1, weight=2)
    many.add_edge("b", "a", start=3, end=4, weight=2)
    many.add_edge("b", "c", start=3)
    many.add_edge("b", "c", end=2)
    graph = simple_graph(many)
    assert dict(graph.edges["a", "b"]) == {"weight": 2, "spells": "1-1 3-4"}
    assert dict(graph.edges["b", "c"]) == {}
    many.add_edge("a", "b", start=9, weight=3)
    with pytest.raises(ValueError, match="the link of a and b: it is listed with several values of weight: keep one"):
        simple_graph(many)


def test_links_are_followed_in_their_direction() -> None:
    """Seats are not in the order of nodes: a sits at seat 2. Of an undirected link both directions change."""
    graph = nx.Graph()
    graph.add_edge(0, 1, start=2, end=3, sign=-1, weight=0.5)
    graph.add_edge(1, 2)
    ties = read_ties(graph, [2, 0, 1])
    assert ties.weights == {(2, 0): 0.5, (0, 2): 0.5}
    assert ties.signs == {(2, 0): -1, (0, 2): -1}
    assert ties.at(1) == {(0, 1), (1, 0)}
    assert [ties.changes(round_) for round_ in (2, 3, 4, 5)] == [
        ((), ((0, 2), (2, 0))),
        ((), ()),
        (((0, 2), (2, 0)), ()),
        ((), ()),
    ]
    assert ties.renamed([10, 11, 12]).changes(2) == ((), ((10, 12), (12, 10)))
    assert read_ties(nx.path_graph(3), [0, 1, 2]) == Ties()


def given() -> Given:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    graph.edges["a", "b"]["end"] = 1
    graph.add_edge("c", "a", start=2)
    return Given(graph)


def test_a_network_follows_the_rounds_of_its_graph() -> None:
    """a hears b in round 1 only, c hears a from round 2; what an intervention did already is not done again."""
    network = Network(size=3, graph=given())  # type: ignore[arg-type]
    seats = network.groups()[0].seats
    assert network.changing
    assert network.links(seats, random.Random(1)) == ((0, 1), (1, 2))
    ties = network.ties(seats, random.Random(1)).renamed([7, 8, 9])
    links = Links((7, 8, 9), ((7, 8), (8, 9)))
    society = SocialGraph(links, lambda one: None, lambda *name: random.Random(0), ties=ties)
    room = Room((7, 8, 9), (7, 8, 9), lambda: (7, 8, 9), society)
    assert [network.rewired(room, round_) for round_ in (1, 2, 3)] == [((), ()), (((7, 8),), ((9, 7),)), ((), ())]
    links.change([(7, 8)], [(9, 7)])
    assert network.rewired(room, 2) == ((), ())


def test_rewiring_and_rounds_of_links_are_refused_together() -> None:
    with pytest.raises(ValueError, match="leave out rewiring, or remove the columns start and end"):
        Network(size=3, graph=given(), rewiring="nearer")  # type: ignore[arg-type]
