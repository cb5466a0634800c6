"""The network of a run as a graph file: what is read back is what the run had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.metrics._network import populations
from parley.analysis.runs import run as run_scenario
from parley.analysis.tables import Tables, load
from parley.environments.graph_files import read_graph, write_graph
from parley.environments.link_attributes import TIMES
from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.titles import seat_title
from parley.studies.network_export.graph import _links, _opinions, network_of, room_graph

SMALL: dict[str, Any] = {"llm": "oracle", "topic": "racism", "repetitions": 2, "rounds": 3, "reference": ""}


def friends() -> nx.DiGraph:
    """Four people; some links are weighted, signed, late, or interrupted in round 2."""
    graph = nx.DiGraph()
    for name, party in zip(("alice", "bob", "cem", "dora"), ["democrat", "republican"] * 2, strict=True):
        graph.add_node(name, party=party, attitude=7.5, town="Ulm")
    graph.add_edge("alice", "bob", weight=2.5, sign=-1)
    graph.add_edge("bob", "alice", weight=1.0, sign=1, start=2)
    graph.add_edge("cem", "dora", end=2)
    graph.add_edge("dora", "alice", spells="-1 3-")
    return graph


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on this graph. Do not write into it."""
    folder = tmp_path_factory.mktemp("export") / "own"
    run_scenario("network", out=folder, topology=friends(), **SMALL)
    return folder


@pytest.mark.thorough
def test_the_network_of_a_run_is_that_of_the_user_with_opinions(own: Path) -> None:
    """Ids, attributes and links are those that went in; opinions are the ratings of the tables."""
    graph, given, tables = network_of(own), friends(), load(own)
    assert list(graph) == list(given)
    assert {pair: dict(data) for *pair, data in graph.edges(data=True) for pair in [tuple(pair)]} == {
        (a, b): data for a, b, data in given.edges(data=True)
    }
    room = tables.agents["room"].iloc[0]
    ratings = tables.attitudes[tables.attitudes["room"] == room].set_index(["agent", "round"])["attitude"]
    for seat in tables.agents[tables.agents["room"] == room].to_dict("records"):
        data = graph.nodes[seat["node"]]
        assert (data["party"], data["persona"], data["name"]) == (seat["party"], seat["persona"], seat["name"])
        assert (data["attitude"], data["town"]) == (7.5, "Ulm")
        assert [data[f"attitude_round_{round_}"] for round_ in range(4)] == ratings[seat["agent"]].tolist()
        assert (data["attitude_first"], data["attitude_last"]) == (data["attitude_round_0"], data["attitude_round_3"])


@pytest.mark.thorough
@check_each("ending", ["graphml", "gexf"])
def test_a_written_network_is_read_back_equal(own: Path, tmp_path: Path, ending: str) -> None:
    """Nodes, links and all their attributes; a network of other opinions would be noticed. Bytes are the same each time."""
    path, again = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    assert run.main(["study", "export-network", str(own), "--out", str(path)]) == 0
    graph, back = network_of(own), read_graph(str(path))
    assert nx.utils.graphs_equal(back, graph)
    assert list(back) == list(graph)
    graph.nodes["alice"]["attitude_round_3"] += 1
    assert not nx.utils.graphs_equal(back, graph)
    write_graph(back, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.thorough
def test_an_exported_network_starts_a_run(own: Path, tmp_path: Path) -> None:
    """The personas of the first room sit at their nodes again, in every repetition, and links have the same rounds."""
    assert run.main(["study", "export-network", str(own), "--out", str(tmp_path / "a.graphml")]) == 0
    graph = f"file,path={tmp_path}/a.graphml"
    again = run_scenario("network", out=tmp_path / "b", graph=graph, size=4, **SMALL)
    seats, first = again.agents, load(own).agents
    first = first[first["room"] == first["room"].iloc[0]]
    for _, people in seats.groupby("room"):
        assert people["persona"].tolist() == first["persona"].tolist()
    links = network_of(tmp_path / "b").edges(data=True)
    assert sorted(map(str, links)) == sorted(map(str, network_of(own).edges(data=True)))


@pytest.mark.thorough
def test_a_drawn_network_is_named_by_its_agents(tmp_path: Path) -> None:
    """Without a network of the user, agents go by the names of the transcript; mutual links are one undirected link."""
    settings = {**SMALL, "size": 12, "rounds": 1, "graph": "ring,degree=2"}
    run_scenario("network", out=tmp_path / "a", **settings)
    tables = load(tmp_path / "a")
    assert "node" not in tables.attitudes
    graph = network_of(tmp_path / "a")
    assert not graph.is_directed()
    assert sorted(dict(graph.degree).values()) == [2] * 12
    assert list(graph) == tables.agents.loc[tables.agents["room"] == tables.agents["room"].iloc[0], "name"].tolist()
    assert not any(name in data for *_, data in graph.edges(data=True) for name in TIMES)
    second = room_graph(tables, tables.agents["room"].iloc[-1])
    assert not nx.utils.graphs_equal(graph, second)


@pytest.mark.thorough
def test_rewired_links_have_the_rounds_in_which_they_existed(tmp_path: Path) -> None:
    """In each round the exported links are those of the tables; a link that came in round 2 has start 2."""
    settings = {**SMALL, "size": 16, "rewiring": "nearer,probability=1,beyond=1"}
    run_scenario("network", out=tmp_path / "a", **settings)
    tables, graph = load(tmp_path / "a"), network_of(tmp_path / "a")
    assert any("start" in data for *_, data in graph.edges(data=True))
    assert any("end" in data for *_, data in graph.edges(data=True))
    added = changes_of(tables, 2, "added")
    assert {pair for *pair, start in graph.edges(data="start") if start == 2 for pair in [tuple(pair)]} <= added
    assert len(added) > 0


def test_a_link_that_lived_for_no_round_is_not_written() -> None:
    """A link that an intervention added and rewiring removed before the same round was written as one that always existed."""
    rows = [("added", 0, 1, 2), ("added", 3, 2, 1), ("removed", 3, 2, 1), ("removed", 3, 1, 2)]
    changes = pd.DataFrame(rows, columns=["change", "round", "source", "target"]).assign(weight=np.nan, sign=np.nan)
    assert _links(changes) == {(1, 2): {"end": 2}}


def changes_of(tables: Tables, round_: int, change: str) -> set[tuple[str, str]]:
    """Pairs of names whose link changed before a round in the first room."""
    links, names = tables.links, tables.agents.set_index("agent")["name"]
    rows = links[(links["room"] == links["room"].iloc[0]) & (links["round"] == round_) & (links["change"] == change)]
    return set(zip(rows["source"].map(names), rows["target"].map(names), strict=True))


def test_tables_transcript_and_page_name_the_nodes(own: Path) -> None:
    """The ids of the user, wherever agents are named; a run on a drawn network has no such column."""
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    from parley.analysis.views.conversation import room_lines
    from parley.analysis.views.network import who

    tables = load(own)
    (seat, *_) = tables.agents[tables.agents["node"] == "alice"].to_dict("records")
    for frame in (tables.utterances, tables.attitudes):
        assert dict(zip(frame["agent"], frame["node"], strict=True))[seat["agent"]] == "alice"
    label = f"({seat_title(seat['seat'], tables.names)}, node alice)"
    assert f"**{seat['name']}** {label}" in (own / "transcript.md").read_text(encoding="utf-8")
    assert "| signs of links | recorded; debates ignore them |" in (own / "summary.md").read_text(encoding="utf-8")
    (network, *_) = populations(tables)
    assert [one["seat"].rpartition(" ")[2] for one in who(tables, network)] == list(friends())
    spoken = [line["name"] + line["who"] for line in room_lines(tables, seat["room"]) if line["who"]]
    assert f"{seat['name']} {label}: " in spoken


@pytest.mark.thorough
@check_each("graph", ["blocks,degree=4", "small_world,degree=4", "geometric,degree=5", "file"])
def test_the_network_of_a_population_is_the_one_it_had(tmp_path: Path, graph: str) -> None:
    """It is drawn again from the seed; another draw would be another graph."""
    if graph == "file":
        (tmp_path / "net.csv").write_text("source,target,weight\nann,bob,2\nbob,cem,3\n", encoding="utf-8")
        graph = f"file,path={tmp_path}/net.csv,directed=true"
    agents = 3 if "file" in graph else 60
    words = ["population", "--law", "degroot", "--graph", graph, "--agents", str(agents), "--steps", "2"]
    parties = [] if "file" in graph else ["--parties", "a:2:1,b:8:1"]
    assert run.main([*words, *parties, "--seed", "5", "--out", str(tmp_path / "p")]) == 0
    found = network_of(tmp_path / "p")
    parsed = "a:2:1,b:8:1" if parties else ""
    model = PopulationModel("degroot", graph, agents, parsed, 2, 5)
    adjacency = nx.to_scipy_sparse_array(found, dtype=float, format="csr")
    assert (adjacency != model.graph).nnz == 0
    model.run()
    assert np.allclose([data["attitude_last"] for _, data in found.nodes(data=True)], model.opinions, atol=1e-6)
    assert [data["party"] for _, data in found.nodes(data=True)] == [model.parties[code].name for code in model.codes]
    assert list(found)[:1] == (["ann"] if "file" in graph else ["0"])


def test_what_cannot_be_exported_is_one_line(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_scenario("two_way", out=tmp_path / "table", **{**SMALL, "rounds": 1})
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "population.json").write_text(json.dumps({"agents": 10**6}), encoding="utf-8")
    for words, told in (
        ([str(tmp_path / "table")], "has no network to export"),
        ([str(tmp_path / "many")], "1,000,000 agents are too many for a graph file"),
        ([str(tmp_path / "many"), "--room", "x"], "is a population, which has no rooms: leave out --room"),
        ([str(own), "--room", "x"], "unknown room 'x'"),
        ([str(own), "--out", "net.csv"], "the name must end in .graphml or .gexf"),
        ([str(tmp_path / "none")], "cannot read the record"),
    ):
        assert run.main(["study", "export-network", *words]) == 2
        assert told in capsys.readouterr().err


def test_a_population_whose_file_is_gone_says_so(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("source,target\nann,bob\n", encoding="utf-8")
    words = ["population", "--law", "degroot", "--graph", f"file,path={tmp_path}/net.csv", "--agents", "2"]
    assert run.main([*words, "--steps", "1", "--out", str(tmp_path / "p")]) == 0
    (tmp_path / "net.csv").write_text("source,target\nann,cem\n", encoding="utf-8")
    with pytest.raises(UserError, match="the graph file has changed since the population was run"):
        network_of(tmp_path / "p")
    (tmp_path / "net.csv").unlink()
    with pytest.raises(UserError, match="cannot read"):
        network_of(tmp_path / "p")


def test_rounds_are_no_dimensions() -> None:
    """An exported network starts a population of two opinions with drawn ones, not with the ratings of rounds 1 and 2."""
    graph = nx.path_graph(3)
    for node in graph:
        graph.nodes[node].update(_opinions([0, 1, 2], [1.0, 2.0, 3.0]))
    assert set(graph.nodes[0]) == {f"attitude_{name}" for name in ("first", "last", "round_0", "round_1", "round_2")}
    assert PopulationModel("degroot", graph, 3, dimensions=2).traits == ()


def test_each_dimension_of_a_population_is_exported(tmp_path: Path) -> None:
    """The opinions of the record, by dimension and step, at the right node."""
    words = ["population", "--law", "degroot", "--graph", "ring,degree=2", "--agents", "6", "--steps", "2"]
    assert run.main([*words, "--dimensions", "2", "--out", str(tmp_path / "p")]) == 0
    record, graph = pd.read_parquet(tmp_path / "p" / "attitudes.parquet"), network_of(tmp_path / "p")
    for row in record.to_dict("records"):
        for name in ("attitude_1", "attitude_2"):
            assert graph.nodes[str(int(row["agent"]))][f"{name}_step_{int(row['step'])}"] == row[name]
    assert graph.nodes["3"]["attitude_2_last"] == graph.nodes["3"]["attitude_2_step_2"]
