"""A graph and a class of agents as objects in a run folder: kept, named in the header, and asked for again by a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from scipy.sparse import csr_array

import parley
from parley.environments.given_graph import Given
from parley.model.custom import FILE

pytestmark = pytest.mark.thorough

SMALL: dict[str, Any] = {
    "llm": "oracle", "topic": "racism", "repetitions": 2, "rounds": 1, "reference": "", "progress": False,
}  # fmt: skip


class Contrarian(parley.Agent):
    def instruction(self, form: str) -> str:
        return f"{super().instruction(form)} Disagree with whoever spoke last."


def friends() -> nx.Graph:
    """Four people in a chain, one of whose links has a weight."""
    graph = nx.Graph([("alice", "bob"), ("bob", "cy"), ("cy", "dee")])
    nx.set_node_attributes(graph, dict(zip(graph, ["democrat", "republican"] * 2, strict=True)), "party")
    graph["alice"]["bob"]["weight"] = 2.5
    return graph


def barbell(people: int) -> nx.Graph:
    return nx.barbell_graph(people // 2, people % 2)


@pytest.mark.parametrize(
    "graph",
    [
        friends(),
        nx.DiGraph([(0, 1), (1, 2)]),
        nx.grid_2d_graph(2, 3),
        nx.from_scipy_sparse_array(csr_array([[0, 2], [0, 0]]), create_using=nx.DiGraph),
        nx.Graph([("a", "b", {"since": 1999, "how": ["x"], "no": None, "note": "one\r\ntwo\rthree\u2028"})]),
    ],
)
def test_a_kept_graph_is_read_back_as_the_same_graph(graph: nx.Graph, tmp_path: Path) -> None:
    """Otherwise nobody could resume with the file in the folder. Names become text; order, links, weights and texts stay."""
    given = Given(graph)
    (tmp_path / FILE).write_text(given.graphml, encoding="utf-8")
    again = nx.read_graphml(tmp_path / FILE)
    assert str(Given(again)) == str(given)
    assert [str(node) for node in graph] == list(again)
    assert [(str(one), str(other)) for one, other in graph.edges] == list(again.edges)
    assert [note for *_, note in graph.edges.data("note")] == [note for *_, note in again.edges.data("note")]


def test_graphs_have_one_digest_if_and_only_if_they_are_alike() -> None:
    other = friends()
    other["alice"]["bob"]["weight"] = 2.0
    assert str(Given(friends())) == str(Given(friends()))
    assert str(Given(friends())) != str(Given(other))


def test_a_run_on_a_graph_is_kept_and_gone_on_with(tmp_path: Path) -> None:
    """The folder holds the graph, the header its digest, the tables the nodes; the same call asks nothing again."""
    made = parley.run("network", out=tmp_path / "a", topology=friends(), **SMALL)
    kept = made.topology
    assert kept is not None
    assert sorted(kept.nodes) == ["alice", "bob", "cy", "dee"]
    assert made.tables.header.scenario["options"]["graph"] == str(Given(friends()))
    assert set(made.agents["node"]) == {"alice", "bob", "cy", "dee"}
    assert set(made.links["weight"].dropna()) == {2.5}
    assert "given,digest=" in made.summary
    before = (tmp_path / "a" / "record.jsonl").read_bytes()
    for graph in (friends(), kept):
        parley.run("network", out=tmp_path / "a", topology=graph, **SMALL)
    assert (tmp_path / "a" / "record.jsonl").read_bytes() == before


def test_an_unfinished_run_on_a_graph_resumes(tmp_path: Path) -> None:
    """Stopped by its budget and gone on with: the same record as of an undisturbed run."""
    whole = parley.run("network", out=tmp_path / "whole", topology=barbell, size=6, **SMALL)
    with pytest.raises(parley.UserError, match=r"open what is finished with parley\.load\('.*cut'\)"):
        parley.run("network", out=tmp_path / "cut", topology=barbell, size=6, max_calls=30, **SMALL)
    assert not parley.load(tmp_path / "cut").tables.finished
    again = parley.run("network", out=tmp_path / "cut", topology=barbell, size=6, **SMALL)
    assert (again.folder / "record.jsonl").read_bytes() == (whole.folder / "record.jsonl").read_bytes()
    assert whole.tables.header.scenario["topology"].endswith("test_custom.barbell")


def test_another_graph_or_none_is_refused(tmp_path: Path) -> None:
    parley.run("network", out=tmp_path / "a", topology=friends(), **SMALL)
    for other in ({"topology": nx.path_graph(4)}, {"graph": "complete", "size": 4}):
        with pytest.raises(
            parley.UserError,
            match=r"another topology: pass topology=networkx\.read_graphml\(\".*graphml\"\) to continue",
        ):
            parley.run("network", out=tmp_path / "a", **SMALL, **other)


def test_agents_of_ones_own_are_named_and_asked_for_again(tmp_path: Path) -> None:
    """The header says whose words these were; a resume with other agents would mix two experiments."""
    folder, own = tmp_path / "a", {"republican": Contrarian}
    small = {key: value for key, value in SMALL.items() if key != "reference"}
    made = parley.run("two_way", out=folder, agent_class=own, **small)
    (name,) = made.tables.header.scenario["agent_class"]
    assert name.startswith("republican:")
    assert name.endswith("test_custom.Contrarian")
    assert name in json.loads((folder / "experiment.json").read_text(encoding="utf-8"))["scenario"]["agent_class"]
    assert name in made.summary
    assert len(parley.run("two_way", out=folder, agent_class=own, **small).attitudes)
    with pytest.raises(
        parley.UserError, match=r"with other agents: pass agent_class=republican:.*Contrarian to continue"
    ):
        parley.run("two_way", out=folder, **small)
    parley.run("two_way", out=tmp_path / "plain", **small)
    with pytest.raises(
        parley.UserError, match="with other agents: leave out agent_class to continue that run, or give another out"
    ):
        parley.run("two_way", out=tmp_path / "plain", agent_class=own, **small)
    with pytest.raises(
        parley.UserError, match=r"agent_class of .* is <class 'int'>, but must be a class made from parley\.Agent"
    ):
        parley.run("two_way", out=tmp_path / "none", agent_class=int, **small)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()
