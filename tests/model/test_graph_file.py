"""From a GraphML file to the tables of a run: who sits at which node."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from scipy import sparse

from parley.analysis.tables import load
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.model import attendance
from parley.model.casting import seat_rooms
from parley.model.cost_estimate import estimate_lines
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

PEOPLE = {
    "alice": {"party": "cdu", "persona": "Cdu1", "town": "Ulm"},
    "bob": {"party": "spd"},
    "cem": {"party": "cdu"},
    "dora": {"party": "spd", "persona": "Spd0"},
}
LINKS = [("alice", "bob", 2.0), ("bob", "cem", 0.5), ("cem", "dora", 1.0)]


def network(folder: Path, people: dict[str, dict[str, str]] = PEOPLE, **settings: object) -> Scenario:
    """The preset on a graph of these people, with a set of two personas a party."""
    graph = nx.DiGraph()
    graph.add_nodes_from(people.items())
    graph.add_weighted_edges_from(LINKS)
    nx.write_graphml(graph, folder / "net.graphml")
    for party in ("cdu", "spd"):
        text = "".join(f'[[persona]]\nname = "{party.title()}{one}"\nbackstory = "You."\n' for one in range(2))
        (folder / f"{party}.toml").write_text(text, encoding="utf-8")
    own = {"personas": f"{folder}/", "parties": "cdu,spd", "reference": "", "size": 4, "rounds": 1, "repetitions": 3}
    graphed = {"graph": f"file,path={folder}/net.graphml", "topic": "racism", "llm": "fake"}
    return load_preset("network").with_settings(own | graphed | settings)


def test_a_run_on_ones_own_network_knows_who_is_who(tmp_path: Path) -> None:
    """`alice` of a user's GraphML was in no file of the run: names, attributes, parties and weights are in the tables."""
    run_scenario(RunSpec(network(tmp_path), tmp_path / "run"), backend=Fake(lambda request: "5"))
    found = load(tmp_path / "run")
    assert found.agents.groupby("room")["node"].apply(list).tolist() == [list(PEOPLE)] * 3
    for row in found.agents.to_dict("records"):
        assert json.loads(row["attributes"]) == PEOPLE[row["node"]]
        assert row["party"] == PEOPLE[row["node"]]["party"]
        assert row["name"] == PEOPLE[row["node"]].get("persona", row["name"])
    assert all(people["name"].is_unique for _, people in found.agents.groupby("room"))
    names = found.agents.set_index(["room", "agent"])["node"]
    for row in found.links.to_dict("records"):
        link = (names[row["room"], row["source"]], names[row["room"], row["target"]], row["weight"])
        assert link in LINKS
    assert len(found.links) == 3 * len(LINKS)


def test_those_without_a_node_of_their_own_are_others(tmp_path: Path) -> None:
    """A persona that a node names sits there and nowhere else; the other seats of its party are cast from the rest."""
    for table in seat_rooms(network(tmp_path)):
        assert [place.persona.id for place in table.places] == ["cdu_02", "spd_02", "cdu_01", "spd_01"]


def test_more_seats_than_personas_have_further_names(tmp_path: Path) -> None:
    """Two nodes for anyone of a party whose other persona is taken: names differ all the same."""
    people = {**PEOPLE, "eva": {"party": "cdu"}, "fritz": {"party": "cdu"}}
    for table in seat_rooms(network(tmp_path, people, size=6)):
        names = [place.persona.name for place in table.places]
        assert len(set(names)) == 6
        assert names[0] == "Cdu1"


def test_a_plan_says_what_becomes_of_weights_and_who_has_no_node(tmp_path: Path) -> None:
    scenario = network(tmp_path)
    assert any(
        "weights of the graph's links are recorded; debates ignore" in line for line in estimate_lines(scenario, {})
    )
    who = (("alice", "cdu", 0), ("bob", "spd", 0), ("cem", "spd", 1), ("dora", "cdu", 1))
    named = {name: {"party": party, "persona": f"{party.title()}{one}"} for name, party, one in who}
    full = network(tmp_path, named)
    assert attendance.cast_name(full) == attendance.NAMED
    assert (
        attendance.attendance_lines(attendance.planned_attendance(full), attendance.NAMED)
        == "all 4 personas take part (CDU 2, SPD 2)"
    )


@pytest.mark.parametrize(
    ("persona", "told"),
    [("Cdu7", "unknown persona of cdu in the graph 'Cdu7'"), ("Cdu1", "two nodes of the graph have the persona")],
)
def test_a_persona_that_cannot_sit_there_is_one_line_before_any_folder(tmp_path: Path, persona: str, told: str) -> None:
    people = {**PEOPLE, "cem": {"party": "cdu", "persona": persona}}
    with pytest.raises(UserError, match=told):
        run_scenario(RunSpec(network(tmp_path, people), tmp_path / "run"), backend=Fake(lambda request: "5"))
    assert not (tmp_path / "run").exists()


def temporal(folder: Path, **attributes: object) -> nx.DiGraph:
    """Three people: alice hears bob always, and cem from round 2; bob hears alice in round 1 only."""
    graph = nx.DiGraph()
    graph.add_nodes_from((name, {"party": "cdu", **attributes}) for name in ("alice", "bob", "cem"))
    graph.add_edge("alice", "bob", sign=1)
    graph.add_edge("alice", "cem", start=2, sign=-1, weight=3.0)
    graph.add_edge("bob", "alice", end=1)
    nx.write_graphml(graph, folder / "times.graphml")
    (folder / "cdu.toml").write_text(
        "".join(f'[[persona]]\nname = "Cdu{one}"\nbackstory = "You."\n' for one in range(3)), encoding="utf-8"
    )
    return graph


def timed(folder: Path, **settings: object) -> Scenario:
    own = {"personas": f"{folder}/", "parties": "cdu", "reference": "", "size": 3, "rounds": 3, "repetitions": 1}
    graphed = {"graph": f"file,path={folder}/times.graphml", "topic": "racism", "llm": "fake"}
    return load_preset("network").with_settings(own | graphed | settings)


def test_links_are_followed_by_round(tmp_path: Path) -> None:
    """Who hears whom is that of the round: alice hears cem from round 2, bob hears alice in round 1 only."""
    temporal(tmp_path)
    run_scenario(
        RunSpec(timed(tmp_path), tmp_path / "run"),
        backend=Fake(lambda request: "5" if request.purpose == "survey" else "I see it in another way."),
    )
    found = load(tmp_path / "run")
    node = found.agents.set_index("agent")["node"]
    author = found.utterances.set_index("iteration")["agent"].map(node)
    heard = {(row["round"], node[row["agent"]], author[row["iteration"]]) for row in found.heard.to_dict("records")}
    always = {(round_, "alice", "bob") for round_ in (1, 2, 3)}
    assert heard == always | {(1, "bob", "alice"), (2, "alice", "cem"), (3, "alice", "cem")}
    links = found.links.assign(source=found.links["source"].map(node), target=found.links["target"].map(node))
    rows = links.astype(object).where(links.notna(), None).drop(columns="room").to_numpy().tolist()
    assert rows == [
        [0, "added", "alice", "bob", None, 1.0],
        [0, "added", "bob", "alice", None, None],
        [2, "removed", "bob", "alice", None, None],
        [2, "added", "alice", "cem", 3.0, -1.0],
    ]


def test_a_plan_says_what_becomes_of_rounds_signs_and_attitudes(tmp_path: Path) -> None:
    temporal(tmp_path, attitude=4)
    text = "\n".join(estimate_lines(timed(tmp_path), {}))
    assert "links by round: 1 appear and 1 vanish, each direction counted" in text
    assert "the signs of the graph's links are recorded; debates ignore them" in text
    assert "the attitudes of the graph's nodes are recorded; agents state their own opinions" in text
    assert "1 links exist in none of the 1 rounds" in "\n".join(estimate_lines(timed(tmp_path, rounds=1), {}))


def test_a_graph_without_links_in_any_round_is_refused(tmp_path: Path) -> None:
    """Panel data are often numbered by year: the debate would be one in which no one hears anyone."""
    graph = temporal(tmp_path)
    nx.set_edge_attributes(graph, {edge: {"start": 2001, "end": 2002} for edge in graph.edges})
    nx.write_graphml(graph, tmp_path / "times.graphml")
    with pytest.raises(
        UserError, match=r"no link of the graph exists in rounds 1 to 3\. The columns `start` and `end`"
    ):
        run_scenario(RunSpec(timed(tmp_path), tmp_path / "run"), backend=Fake(lambda request: "5"))
    assert not (tmp_path / "run").exists()


def test_rewiring_is_refused_where_the_graph_has_rounds(tmp_path: Path) -> None:
    temporal(tmp_path)
    with pytest.raises(UserError, match="leave out rewiring, or remove the columns start and end"):
        timed(tmp_path, rewiring="nearer")


def test_a_persona_may_be_named_by_its_id(tmp_path: Path) -> None:
    """Names may be those of other sets as well; an id is that of one persona."""
    people = {**PEOPLE, "bob": {"party": "spd", "persona": "spd_02"}, "dora": {"party": "spd", "persona": "Spd0"}}
    (room, *_) = seat_rooms(network(tmp_path, people))
    assert [place.persona.id for place in room.places][1::2] == ["spd_02", "spd_01"]


def test_a_run_on_a_matrix_is_resumed_only_on_the_same_matrix(tmp_path: Path) -> None:
    """The label of a folder has the digest of its files, and a matrix is no text."""
    temporal(tmp_path)
    path, folder = tmp_path / "net.npz", tmp_path / "run"
    for links, refused in (([0, 1], False), ([0, 1], False), ([0, 2], True)):
        sparse.save_npz(path, sparse.csr_array(([1.0, 1.0], (links, [1, 0])), shape=(3, 3)))
        task = RunSpec(timed(tmp_path, graph=f"file,path={path}"), folder)
        if refused:
            with pytest.raises(UserError, match="already has a run with other personas, topics or code"):
                run_scenario(task, backend=Fake(lambda request: "5"))
        else:
            run_scenario(task, backend=Fake(lambda request: "5"))
    assert len(load(folder).links) == 2
