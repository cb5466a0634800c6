"""A population on a graph of the user: the same graph in any format moves opinions in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from data_checks import check_each
from scipy import sparse

from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.population_setup import choose_graph

CHAIN = nx.path_graph(4)
MATRIX = nx.to_scipy_sparse_array(CHAIN, dtype=float)


def last(graph: Any, agents: int = 4) -> Any:
    """The opinions after three steps."""
    model = PopulationModel("degroot", graph, agents=agents, steps=3, rng=1)
    model.run()
    return model.opinions


@check_each("ending", ["graphml", "gexf", "adjlist", "edgelist", "csv", "npz", "networkx", "array"])
def test_every_format_moves_opinions_alike(tmp_path: Path, ending: str) -> None:
    """A chain of four; the same links among other people give other opinions."""
    path = tmp_path / f"net.{ending}"
    makers: dict[str, Any] = {
        "csv": lambda: path.write_text("source,target\n0,1\n1,2\n2,3\n"),
        "npz": lambda: sparse.save_npz(path, sparse.csr_array(MATRIX)),
    }
    graphs = {"networkx": CHAIN, "array": MATRIX}
    if ending not in graphs:
        makers.get(ending, lambda: getattr(nx, f"write_{ending}")(CHAIN, path))()
    opinions = last(graphs.get(ending, f"file,path={path}"))
    assert np.allclose(opinions, last(CHAIN), rtol=0, atol=1e-12)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(range(4))
    shuffled.add_edges_from([(2, 0), (0, 3), (3, 1)])
    assert not np.allclose(opinions, last(shuffled), atol=0.01)


def test_a_table_of_nodes_gives_parties_and_attitudes(tmp_path: Path) -> None:
    """A node without links is an agent too; attributes arrive in the order of the agents."""
    (tmp_path / "net.csv").write_text("source,target\nann,bob\n")
    (tmp_path / "people.csv").write_text("node,party,attitude\ncem,b,9\nbob,a,1.5\nann,a,0\n")
    spec = f"file,path={tmp_path}/net.csv,node_file={tmp_path}/people.csv"
    chosen = choose_graph(spec, 3)
    assert chosen.nodes == ["ann", "bob", "cem"]
    assert chosen.parties == ["a", "a", "b"]
    assert chosen.attribute("attitude") == [0, 1.5, 9]
    assert chosen.attribute("stubbornness") == []
    model = PopulationModel("degroot", spec, agents=3, steps=1, rng=1)
    assert [model.parties[code].name for code in model.codes] == ["a", "a", "b"]
    (tmp_path / "people.csv").write_text("node,party\nann,a\n")
    with pytest.raises(UserError, match="node bob has no party, but other nodes have one"):
        _ = choose_graph(spec, 2).parties


@check_each(
    ("graph", "words"),
    [
        (sparse.csr_array(np.eye(2)), "graph of scipy: a node is linked with itself"),
        (sparse.csr_array(np.ones((2, 3))), "2 rows and 3 columns, but both numbers must be equal"),
        (sparse.csr_array([[0, -1], [0, 0]]), "hostile links .sign -1., which the law"),
        (
            nx.Graph([("a", "b", {"start": 2019})]),
            "no link exists in steps 1 to 1, because the first link starts at step 2019",
        ),
        (nx.Graph([("a", "b", {"start": 3, "end": 2})]), "the link of a and b: its end, 2, is before its start, 3"),
        (nx.Graph([("a", "b", {"sign": -1})]), "hostile links .sign -1., which the law"),
        (nx.Graph([("a", "a")]), "graph of networkx: a is linked with itself: remove this link"),
        (nx.Graph([("a", "b\x07")]), "has the character"),
        (nx.Graph(), "it has no nodes, but it needs a node for each person"),
        (sparse.csr_array((0, 0)), "no nodes: give a graph with a node for each person"),
        (sparse.csr_array((3, 3)), "has 3 nodes, but 2 agents were requested: set --agents 3"),
    ],
)
def test_a_graph_that_no_population_can_have_is_one_line(graph: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        PopulationModel("degroot", graph, agents=2, steps=1, rng=1)


TIMED = "source,target,start,end,sign,weight\na,b,,1,,\nb,c,2,2,-1,2\n"
NODES = "node,attitude\na,0\nb,10\nc,6\n"


def timed(folder: Path, form: str) -> Any:
    """Links with rounds as a table, as GraphML with spells, or as a networkx graph with parallel links."""
    (folder / "net.csv").write_text(TIMED)
    (folder / "nodes.csv").write_text(NODES)
    graph = nx.MultiGraph([("a", "b", {"end": 1}), ("b", "c", {"start": 2, "end": 2, "sign": -1, "weight": 2.0})])
    nx.set_node_attributes(graph, {"a": 0.0, "b": 10.0, "c": 6.0}, "attitude")
    nx.write_graphml(nx.Graph(graph), folder / "net.graphml")
    specs = {
        "csv": f"file,path={folder}/net.csv,node_file={folder}/nodes.csv",
        "graphml": f"file,path={folder}/net.graphml",
    }
    return specs.get(form, graph)


@check_each("form", ["csv", "graphml", "networkx"])
def test_links_appear_and_vanish_by_their_rounds(tmp_path: Path, form: str) -> None:
    """Links with rounds were refused. Altafini by hand, as distances from 5: a and b (-5, 5) meet at 0 in step 1; in step 2 b
    goes half way to the opposite of c (1), so to -.5, and c half way to the opposite of b, so to .5; then there is no link."""
    model = PopulationModel("altafini", timed(tmp_path, form), agents=3, steps=4, rng=1)
    links, opinions = [model.graph.nnz], []
    for _ in range(4):
        model.step()
        links.append(model.graph.nnz)
        opinions.append((model.opinions - 5).round(9).tolist())
    assert links == [2, 2, 2, 0, 0]
    assert opinions == [[0.0, 0.0, 1.0], [0.0, -0.5, 0.5], [0.0, -0.5, 0.5], [0.0, -0.5, 0.5]]


def test_links_with_rounds_are_refused_where_something_else_moves_them(tmp_path: Path) -> None:
    """A hostile link is seen though it begins later; rewiring would move links that have a timetable."""
    graph = timed(tmp_path, "csv")
    with pytest.raises(UserError, match=r"hostile links \(sign -1\), which the law degroot"):
        PopulationModel("degroot", graph, agents=3)
    with pytest.raises(UserError, match="leave out --rewiring"):
        PopulationModel("altafini", graph, agents=3, rewiring="nearer,beyond=2")
