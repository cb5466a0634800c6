"""What the nodes of a user's graph say about people, and links with a sign: used where a law knows them, refused else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from data_checks import check_each

from parley.llm.errors import UserError
from parley.model.population import PopulationModel
from parley.model.population_network import node_traits
from parley.model.population_setup import ChosenGraph

NAMES = ("Ann", "Bob", "Cem")


def friends(weight: float = 1.0, **attributes: Mapping[str, object]) -> nx.Graph:
    """Ann hears Bob and Cem, and they hear her. attributes: a value for each name that has one."""
    graph = nx.Graph()
    graph.add_nodes_from((name, {key: one[name] for key, one in attributes.items() if name in one}) for name in NAMES)
    graph.add_weighted_edges_from([("Ann", "Bob", weight), ("Ann", "Cem", 1.0)])
    return graph


def foes() -> nx.Graph:
    """As `friends`, but Bob is Ann's foe."""
    graph = friends()
    nx.set_edge_attributes(graph, {("Ann", "Bob"): -1, ("Ann", "Cem"): 1}, "sign")
    return graph


def after_a_step(graph: nx.Graph | str, law: str, **settings: object) -> PopulationModel:
    model = PopulationModel(law, graph, 3, steps=1, rng=1, **settings)  # type: ignore[arg-type]
    model.run()
    return model


@pytest.mark.parametrize("form", ["graph", "file"])
def test_people_of_a_graph_start_where_their_node_says(tmp_path: Path, form: str) -> None:
    """Whole numbers too, from networkx or GraphML; one step of degroot by hand from there."""
    graph = friends(attitude={"Ann": 2, "Bob": 4.5, "Cem": 9})
    nx.write_graphml(graph, tmp_path / "net.graphml")
    model = after_a_step(graph if form == "graph" else f"file,path={tmp_path}/net.graphml", "degroot,own=0")
    assert model.opinions.tolist() == [6.75, 2.0, 2.0]
    assert model.traits == ("attitude",)


def test_attitudes_of_nodes_stand_before_those_of_parties() -> None:
    """--parties sets who belongs where; nodes say where they start."""
    graph = friends(attitude=dict.fromkeys(NAMES, 1.5))
    model = PopulationModel("degroot", graph, 3, "a:8:1,b:8:1", 0, 1)
    assert model.opinions.tolist() == [1.5] * 3


def test_each_dimension_has_its_own_attribute() -> None:
    """attitude_2 is that of the nodes; the other dimension starts as without it, and is that of one dimension alone."""
    graph = friends(attitude_2={"Ann": 1.0, "Bob": 2.0, "Cem": 3.0})
    model = PopulationModel("degroot", graph, 3, steps=0, rng=1, dimensions=2)
    assert model.opinions[:, 1].tolist() == [1.0, 2.0, 3.0]
    assert (model.opinions[:, 0] == PopulationModel("degroot", friends(), 3, steps=0, rng=1).opinions).all()


def test_stubbornness_bound_and_stubborn_of_nodes_are_used() -> None:
    """One step of three laws by hand from 0, 4, 8; degroot has half of its own opinion."""
    start = {"Ann": 0.0, "Bob": 4.0, "Cem": 8.0}
    held = friends(attitude=start, stubbornness={"Ann": 0.5, "Bob": 1.0, "Cem": 0.0})
    assert after_a_step(held, "degroot").opinions.tolist() == [1.5, 4.0, 4.0]
    assert after_a_step(held, "friedkin_johnsen").opinions.tolist() == [3.0, 4.0, 0.0]
    bound = friends(attitude=start, bound={"Ann": 4.0, "Bob": 3.9, "Cem": 100})
    assert after_a_step(bound, "hegselmann_krause").opinions.tolist() == [2.0, 4.0, 4.0]
    still = friends(attitude=start, stubborn={"Ann": True, "Bob": False, "Cem": False})
    model = after_a_step(still, "degroot")
    assert model.opinions.tolist() == [0.0, 2.0, 4.0]
    assert model.traits == ("attitude", "stubborn")


def test_a_law_ignores_what_it_does_not_read() -> None:
    """Attributes of other studies do no harm; what is used is listed."""
    graph = friends(bound={"Ann": "wide"}, income={"Ann": -3})
    assert after_a_step(graph, "degroot").traits == ()


@check_each(
    ("values", "told"),
    [
        (
            {"attitude": {"Ann": 1, "Bob": 2}},
            "node Cem has no attitude; give all nodes the attribute attitude, or none",
        ),
        ({"attitude": dict.fromkeys(NAMES, 10.5)}, "node Ann has the attitude 10.5: give a number from 0 to 10"),
        ({"attitude": dict.fromkeys(NAMES, "high")}, "give a number from 0 to 10"),
        ({"attitude": dict.fromkeys(NAMES, float("nan"))}, "give a number from 0 to 10"),
        ({"attitude": dict.fromkeys(NAMES, True)}, "give a number from 0 to 10"),
        ({"bound": dict.fromkeys(NAMES, -1)}, "node Ann has the bound -1: give a number of 0 or more"),
        ({"stubborn": dict.fromkeys(NAMES, 0.5)}, "node Ann has the stubborn 0.5: give true or false"),
        ({"stubborn": dict.fromkeys(NAMES, "no")}, "give true or false"),
    ],
)
def test_what_is_wrong_with_a_node_is_said_in_one_line(values: dict, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        PopulationModel("deffuant", friends(**values), 3)
    assert "\n" not in str(error.value)


def test_stubbornness_is_a_share() -> None:
    with pytest.raises(UserError, match="give a number from 0 to 1"):
        PopulationModel("friedkin_johnsen", friends(stubbornness=dict.fromkeys(NAMES, 1.1)), 3)


def test_any_finite_number_is_a_trait_that_a_law_of_the_user_reads() -> None:
    assert node_traits(ChosenGraph("x", own=friends(income=dict(zip(NAMES, (-3, 0, 2.5), strict=True)))), ["income"])[
        "income"
    ].tolist() == [-3.0, 0.0, 2.5]
    with pytest.raises(UserError, match="give a finite number"):
        node_traits(ChosenGraph("x", own=friends(income=dict.fromkeys(NAMES, float("inf")))), ["income"])


def test_a_law_of_the_user_reads_traits_and_has_the_options_of_every_law(tmp_path: Path) -> None:
    """A file of one's own with one class: people move up by their income; the pull comes with it."""
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass, field, replace\n"
        "from parley.agents.laws import Law\n\n\n"
        "@dataclass(frozen=True)\n"
        "class Rise(Law):\n"
        "    rate: float = 1.0\n"
        "    income: object = field(default=None, repr=False, compare=False)\n"
        '    reads = ("income",)\n\n'
        "    def begin(self, opinions, people):\n"
        '        return replace(self, income=people.traits["income"])\n\n'
        "    def step(self, opinions, graph, generator):\n"
        "        return opinions + self.rate * self.income\n"
    )
    graph = friends(attitude=dict.fromkeys(NAMES, 4.0), income=dict(zip(NAMES, (0, 1, 2), strict=True)))
    model = after_a_step(graph, f"{tmp_path}/mine.py,rate=0.5,pull=0.5,toward=10")
    assert model.opinions.tolist() == [7.0, 7.25, 7.5]


@pytest.mark.parametrize("form", ["graph", "table", "graphml", "matrix"])
def test_links_with_a_sign_are_for_laws_that_know_them(tmp_path: Path, form: str) -> None:
    """Bob is Ann's foe: altafini moves her away from him. Another law refuses."""
    graph: Any = foes()
    if form == "table":
        rows = [f"{one},{other},{data['sign']}" for one, other, data in foes().edges(data=True)]
        (tmp_path / "net.csv").write_text("\n".join(["source,target,sign", *rows]))
        graph = f"file,path={tmp_path}/net.csv"
    if form == "graphml":
        nx.write_graphml(foes(), tmp_path / "net.graphml")
        graph = f"file,path={tmp_path}/net.graphml"
    if form == "matrix":
        graph = nx.to_scipy_sparse_array(foes(), weight="sign")
    model = PopulationModel("altafini,own=0", graph, 3, steps=1, rng=1)
    start = dict(zip(NAMES, model.opinions - 5, strict=True))
    model.run()
    ends = dict(zip(NAMES, model.opinions - 5, strict=True))
    assert ends["Ann"] == pytest.approx((start["Cem"] - start["Bob"]) / 2)
    assert (ends["Bob"], ends["Cem"]) == pytest.approx((-start["Ann"], start["Ann"]))
    for law in ("degroot", "deffuant", "voter"):
        with pytest.raises(UserError, match=f"hostile links .*, which the law {law} cannot use: choose altafini"):
            PopulationModel(law, graph, 3)


@check_each("weight", [-1.0, 0.0, float("nan"), float("inf")])
def test_a_weight_is_a_number_above_0(weight: float) -> None:
    with pytest.raises(UserError, match="a number above 0"):
        PopulationModel("altafini", friends(weight), 3)


def test_a_graph_that_is_drawn_has_no_traits() -> None:
    model = PopulationModel("hegselmann_krause", "ring,degree=2", 30, rng=1)
    assert model.traits == ()
    assert np.isfinite(model.opinions).all()
