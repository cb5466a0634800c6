"""From a GraphML file to the tables of a run: who sits at which node."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

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
    graphed = {"graph": f"file,path={folder}/net.graphml", "topics": "racism", "llm": "fake"}
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
        == "all 4 personas sit (cdu 2, spd 2)"
    )


@pytest.mark.parametrize(
    ("persona", "told"),
    [("Cdu7", "unknown persona of cdu in the graph 'Cdu7'"), ("Cdu1", "two nodes of the graph name the persona")],
)
def test_a_persona_that_cannot_sit_there_is_one_line_before_any_folder(tmp_path: Path, persona: str, told: str) -> None:
    people = {**PEOPLE, "cem": {"party": "cdu", "persona": persona}}
    with pytest.raises(UserError, match=told):
        run_scenario(RunSpec(network(tmp_path, people), tmp_path / "run"), backend=Fake(lambda request: "5"))
    assert not (tmp_path / "run").exists()
