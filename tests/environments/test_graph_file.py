"""A network from a file keeps who is who: names, parties, personas and the weights of links."""

from __future__ import annotations

import random
from pathlib import Path

import networkx as nx
import pytest
from data_checks import check_each

from parley.environments._social_graph import Pairs
from parley.environments.graphs import GRAPHS
from parley.environments.network import Network


def saved(folder: Path, people: dict[str, dict[str, str]], *links: tuple[str, str, float]) -> Path:
    """A GraphML file of these nodes."""
    graph = nx.Graph()
    graph.add_nodes_from(people.items())
    graph.add_weighted_edges_from(links)
    path = folder / "net.graphml"
    nx.write_graphml(graph, path)
    return path


def test_named_nodes_keep_their_seats_and_their_parties(tmp_path: Path) -> None:
    """Nodes were dealt anew in every repetition, and a node's party was ignored without a word."""
    people = {"alice": {"party": "afd"}, "bob": {"party": "cdu"}, "cem": {"party": "cdu"}}
    path = saved(tmp_path, people, ("alice", "bob", 2.0), ("bob", "cem", 0.5))
    network = Network(parties=("cdu", "afd"), size=3, graph=f"file,path={path}")
    (group,) = network.groups()
    assert group.seats == ("afd", "cdu", "cdu")
    for seed in range(5):
        nodes = network.nodes(group.seats, random.Random(seed))
        assert [(node.name, node.attributes) for node in nodes] == list(people.items())
        assert network.links(group.seats, random.Random(seed)) == ((0, 1), (1, 0), (1, 2), (2, 1))
        weights = network.ties(group.seats, random.Random(seed)).weights
        assert weights == {(0, 1): 2.0, (1, 0): 2.0, (1, 2): 0.5, (2, 1): 0.5}


def test_numbered_nodes_are_dealt_and_the_map_says_how(tmp_path: Path) -> None:
    """Of a graph without names people sit at random, as on a drawn one; nodes, links and weights go by one draw."""
    path = tmp_path / "net.txt"
    path.write_text("0 1 2.0\n1 2 0.5\n")
    network = Network(size=3, graph=f"file,path={path}")
    seats, seen = network.groups()[0].seats, set()
    for seed in range(20):
        nodes = [node.name for node in network.nodes(seats, random.Random(seed))]
        pairs = network.links(seats, random.Random(seed))
        weights = network.ties(seats, random.Random(seed)).weights
        assert {frozenset((nodes[one], nodes[other])) for one, other in pairs} == {frozenset("01"), frozenset("12")}
        assert {weights[pair] for pair in pairs if "0" in (nodes[pair[0]], nodes[pair[1]])} == {2.0}
        assert weights.keys() == set(pairs)
        seen.add(tuple(nodes))
    assert len(seen) > 3


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    """What was read is kept for a while, by when the file was changed and how long it is."""
    path = tmp_path / "net.txt"
    for text, size in (("a b\n", 2), ("a b\nb c\n", 3)):
        path.write_text(text)
        assert len(GRAPHS.get(f"file,path={path}").read()) == size


@check_each(
    ("text", "weights"),
    [("a b\n", []), ("a b 3\n", [3.0]), ("a b {'weight': 0.5}\n", [0.5]), ("a b {}\n", [])],
)
def test_an_edge_list_may_have_weights(tmp_path: Path, text: str, weights: list[float]) -> None:
    """A third column, or the dict that networkx itself writes, which was left out before."""
    (tmp_path / "net.txt").write_text(text)
    graph = GRAPHS.get(f"file,path={tmp_path}/net.txt").read()
    assert [weight for *_, weight in graph.edges(data="weight") if weight is not None] == weights


def test_a_mapping_that_cannot_be_kept_is_one_line(tmp_path: Path) -> None:
    """Before anything is asked, with what to do."""
    for people, parties, words in (
        ({"alice": {"party": "afd"}, "bob": {}}, "afd", "node bob has no party; give all nodes"),
        ({"alice": {"persona": "Ann"}, "bob": {}}, "afd", "node alice has no party"),
        (
            {"alice": {"party": "afd"}, "bob": {"party": "cdu"}},
            "cdu",
            "have the parties afd,cdu, not cdu: set parties=afd,cdu",
        ),
        ({"alice": {"party": "afd"}, "bob": {"party": "afd"}}, "afd,cdu", "set parties=afd"),
    ):
        path = saved(tmp_path, people, ("alice", "bob", 1.0))
        with pytest.raises(ValueError, match=words):
            linked(Network(parties=tuple(parties.split(",")), size=2, graph=f"file,path={path}"))
    for text, words in (
        ("a b c d\n", "more than two names and a weight"),
        ("a b -1\n", "weight is -1.0, but must be a number above 0"),
    ):
        (tmp_path / "net.txt").write_text(text)
        with pytest.raises(ValueError, match=words):
            linked(Network(size=2, graph=f"file,path={tmp_path}/net.txt"))
    path = saved(tmp_path, {"alice": {"party": "afd"}, "bob": {"party": "afd"}}, ("alice", "bob", 1.0))
    with pytest.raises(ValueError, match="2 nodes, but there are 3 agents: set size=2"):
        linked(Network(parties=("afd",), size=3, graph=f"file,path={path}"))


def linked(network: Network) -> Pairs:
    return network.links(network.groups()[0].seats, random.Random(1))
