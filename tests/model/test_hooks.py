"""What a user brings as objects: a class of agents, a graph, reporters. No file in the package, no monkeypatch."""

from __future__ import annotations

import statistics

import mesa
import networkx as nx
import pytest
from data_checks import check_each
from scipy.sparse import csr_array

import parley
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.events import Linked
from parley.model.recorder import MemoryRecorder

DISAGREE = "Disagree with whoever spoke last."


class Contrarian(parley.Agent):
    def instruction(self, form: str) -> str:
        return f"{super().instruction(form)} {DISAGREE}"


def variance(model: parley.DebateModel) -> float | None:
    known = [agent.attitude for agent in model.agents if agent.attitude is not None]
    return statistics.pvariance(known) if known else None


def heard_by(model: dict[str, list[str]]) -> Fake:
    """A backend that keeps what each persona was asked to say."""

    def answer(request: Request) -> str:
        if not request.answers:
            model.setdefault(request.messages[0].content, []).append(request.messages[-1].content)
        return "5" if request.answers else "Yes."

    return Fake(answer)


@pytest.mark.parametrize("preset", ["three_way", "network"])
def test_agents_of_ones_own_by_party(preset: str) -> None:
    """At a table and in a network: Republicans are told to disagree, nobody else is."""
    asked: dict[str, list[str]] = {}
    model = parley.DebateModel(
        preset,
        topic="racism",
        repetitions=1,
        rounds=1,
        agent_class={"republican": Contrarian},
        backend=heard_by(asked),
    )
    model.run()
    own = {agent.persona.backstory: agent.party == "republican" for agent in model.agents}
    assert any(own.values())
    for backstory, instructions in asked.items():
        assert all(one.endswith(DISAGREE) == own[backstory] for one in instructions)
    assert all(isinstance(agent, Contrarian) == (agent.party == "republican") for agent in model.agents)


def test_first_and_second_are_the_debaters_of_the_society() -> None:
    """As everywhere else, `second` names a party of each society (in `us`, the democrats)."""
    model = parley.DebateModel("two_way", topic="racism", llm="oracle", agent_class={"second": Contrarian})
    assert {agent.party for agent in model.agents if isinstance(agent, Contrarian)} == {"democrat"}


def test_one_class_for_everybody_and_what_is_none() -> None:
    model = parley.DebateModel("two_way", topic="racism", llm="oracle", agent_class=Contrarian)
    assert all(isinstance(agent, Contrarian) for agent in model.agents)
    with pytest.raises(parley.UserError, match="unknown party of agent_class 'republicans': did you mean republican"):
        parley.DebateModel("two_way", topic="racism", llm="oracle", agent_class={"republicans": Contrarian})
    with pytest.raises(parley.UserError, match=r"is <class 'int'>, but must be a class made from parley\.Agent"):
        parley.DebateModel("two_way", topic="racism", llm="oracle", agent_class=int)  # type: ignore[arg-type]


def barbell(people: int) -> nx.Graph:
    return nx.barbell_graph(people // 2, people % 2)


@check_each(
    "given", [barbell(10), nx.to_scipy_sparse_array(barbell(10)), csr_array(nx.to_numpy_array(barbell(10))), barbell]
)
def test_a_graph_of_ones_own_is_who_hears_whom(given: object) -> None:
    """As an object, sparse, or a function of the number of agents: the recorded links are a barbell's."""
    recorder = MemoryRecorder()
    size = {"size": 10} if callable(given) else {}
    model = parley.DebateModel(
        "network",
        topic="racism",
        repetitions=1,
        rounds=1,
        llm="oracle",
        topology=given,
        recorder=recorder,
        reference="",
        **size,
    )
    (links,) = [event for event in recorder.events if isinstance(event, Linked)]
    found = nx.Graph(links.pairs)
    assert len(model.agents) == 10
    assert nx.is_isomorphic(found, barbell(10))
    assert nx.Graph(barbell(10)).number_of_edges() == 21, "nothing was changed in what was given"


def test_people_stay_on_the_nodes_where_they_were_put() -> None:
    graph = nx.Graph([("alice", "bob"), ("bob", "cy")])
    nx.set_node_attributes(graph, {"alice": "democrat", "bob": "republican", "cy": "democrat"}, "party")
    recorder = MemoryRecorder()
    model = parley.DebateModel(
        "network",
        topic="racism",
        repetitions=2,
        rounds=1,
        llm="oracle",
        topology=graph,
        recorder=recorder,
        reference="",
    )
    assert [agent.party for agent in model.agents] == ["democrat", "republican", "democrat"] * 2
    (first, _) = [event for event in recorder.events if isinstance(event, Linked)]
    one, two, three = list(model.agents)[:3]
    assert {frozenset(pair) for pair in first.pairs} == {
        frozenset({one.unique_id, two.unique_id}), frozenset({two.unique_id, three.unique_id})
    }  # fmt: skip


@check_each(
    ("preset", "topology", "says"),
    [
        ("three_way", nx.path_graph(3), "topology only works in a scenario with a network"),
        ("network", lambda people: "ring", "the topology function must return a graph of networkx or a sparse array"),
        ("network", "ring", "unknown place 'ring'"),
        ("network", nx.path_graph(1), "size must be at least 2"),
        ("network", nx.Graph(), "topology: it has no nodes, but it needs a node for each person"),
        ("network", nx.Graph([(0, 1), (1, 1)]), "topology: 1 is linked with itself: remove this link"),
        ("network", nx.Graph([("a", "b\x00")]), "topology: .* which graph files cannot contain: remove it"),
        ("network", nx.Graph([("a", "b", {"note": "\ud800"})]), "which graph files cannot contain: remove it"),
    ],
)
def test_what_is_no_topology_is_told(preset: str, topology: object, says: str) -> None:
    with pytest.raises(parley.UserError, match=says):
        parley.DebateModel(preset, topic="racism", llm="oracle", topology=topology)


def test_reporters_of_ones_own_stand_beside_the_others() -> None:
    """Of the model and of agents, collected each round with the rest."""
    model = parley.DebateModel(
        "two_way", topic="racism", repetitions=3, rounds=2, llm="oracle", rng=1,
        model_reporters={"variance": variance}, agent_reporters={"name": lambda agent: agent.name},
    )  # fmt: skip
    model.run()
    rows = model.datacollector.get_model_vars_dataframe()
    assert len(rows) == 3
    assert rows["variance"].iloc[-1] == pytest.approx(variance(model))
    assert {"attitude", "name"} <= set(model.datacollector.get_agent_vars_dataframe().columns)


def test_contrarians_on_a_barbell_in_batch_run() -> None:
    """The experiment of docs/library.md: own agents, own graph, own reporter, two seeds, in one call of Mesa's."""
    fixed = {
        "preset": "network", "topic": "racism", "repetitions": 1, "rounds": 2, "llm": "oracle", "reference": "",
        "topology": barbell(10), "agent_class": Contrarian, "model_reporters": {"variance": variance},
    }  # fmt: skip
    old = tuple(map(int, mesa.__version__.split(".")[:2])) < (3, 4)
    seeds = {"parameters": {**_alone(fixed), "rng": [1, 2]}} if old else {"parameters": _alone(fixed), "rng": [1, 2]}
    rows = mesa.batch_run(parley.DebateModel, **seeds, max_steps=10, display_progress=False)  # type: ignore[arg-type]
    assert len({row["RunId"] for row in rows}) == 2
    assert all(row["variance"] is not None for row in rows)


def _alone(parameters: dict) -> dict:
    """Each value as one value: `batch_run` takes what can be gone through for values to vary."""
    return {name: [value] for name, value in parameters.items()}


@check_each(
    "name, value", [("plan", "vote"), ("note", "x"), ("states", ["a"]), ("memory", []), ("day", "Monday"), ("style", 1)]
)
def test_a_taken_name_is_one_line(name: str, value: object) -> None:
    """`self.plan = "vote"` ended in "'str' object has no attribute 'text'" somewhere else; the class says so at once."""

    class Own(parley.Agent):
        def __init__(self, *arguments: object, **settings: object):
            super().__init__(*arguments, **settings)  # type: ignore[arg-type]
            setattr(self, name, value)

    with pytest.raises(parley.UserError, match=f"the agent class Own uses the name {name}, .* such as my_{name}"):
        parley.DebateModel("two_way", topic="racism", llm="oracle", repetitions=1, agent_class=Own)
    with pytest.raises(parley.UserError, match=f"uses the name {name}"):
        type("Own", (parley.Agent,), {name: value})


def test_a_voice_that_is_no_model_of_the_run_is_one_line() -> None:
    """`self.voice = "deep"` ended in KeyError: 'deep'; a text is the right type, so the name is not refused."""

    class Own(parley.Agent):
        def __init__(self, *arguments: object, **settings: object):
            super().__init__(*arguments, **settings)  # type: ignore[arg-type]
            self.voice = "deep"

    with pytest.raises(parley.UserError, match=r"unknown voice of \w+ 'deep'"):
        parley.DebateModel("two_way", topic="racism", llm="oracle", repetitions=1, agent_class=Own)


def test_a_private_name_of_ours_is_one_line() -> None:
    with pytest.raises(parley.UserError, match="the agent class Own uses the name _names, which"):
        type("Own", (parley.Agent,), {"_names": lambda self: ["Ann"]})
