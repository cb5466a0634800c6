"""Networked populations in the model: what is said, heard, recorded and drawn. Their rules are tested in tests/environments."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mesa.discrete_space
import networkx as nx
import pytest
from data_checks import check_each
from standins import Scrambled, opinionated

from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.cost_estimate import estimate_lines
from parley.model.debate import DebateModel
from parley.model.events import Event, Heard, Linked, Rated, Seated, Unlinked, Utterance
from parley.model.recorder import MemoryRecorder, from_line, to_line
from parley.model.run_folder import make_header
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario, load_preset

Small = Callable[..., Scenario]
SMALL = {"size": 10, "graph": "ring,degree=4", "repetitions": 1, "reference": "", "rounds": 3}


def network(**settings: Any) -> Scenario:
    """Ten people on a ring, three rounds, one room."""
    return load_preset("network").with_settings({**SMALL, **settings})


def held(scenario: Scenario, backend: Fake | None = None) -> tuple[DebateModel, list[Event]]:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, backend=backend or Fake(opinionated), recorder=recorder, keep_going=True)
    model.run()
    return model, recorder.events


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_a_debate_of_three_is_a_complete_graph_of_three(small: Small) -> None:
    """No second engine: as a network, the same room gives the record of the round table word for word, with what was heard."""
    seats = ("republican", "democrat", "default")
    table = held(small(seats=seats, order="fixed"))[1]
    options = {"graph": "complete", "timing": "sequential", "order": "fixed", "size": 3, "parties": seats}
    own = {"environment": "network", "memory": "whole", "cast": "circle", **options}
    events = held(small(**own))[1]
    assert [event for event in events if not isinstance(event, Linked | Heard)] == table
    assert len(of(Linked, events)) == 2
    heard = {(event.round, event.agent): event.iterations for event in of(Heard, events) if "/000" in event.room}
    assert heard[1, 1] == (2, 3)
    assert heard[2, 3] == (4, 5)


def test_nobody_hears_a_simultaneous_round_before_it_has_spoken() -> None:
    """In what is sent own words come before those that were said with them, and never after."""
    requests: list[Request] = []

    def numbered(request: Request) -> str:
        if request.answers:
            return "5"
        requests.append(request)
        return f"It is remark {len(requests)}."

    held(network(memory="whole", rounds=2, size=6), Fake(numbered))
    for number, request in enumerate(requests):
        asked = [message.content for message in request.messages]
        assert any("remark" in text for text in asked) == (number >= 6)
        if number >= 6:
            assert [role for role, _ in request.messages] == ["system", "user", "assistant", "user"]
            assert "remark" not in asked[1]
            assert asked[3].count("remark") == 4


def test_what_is_recorded_as_heard_is_what_was_sent() -> None:
    """Each line in a prompt is one that the record says this agent heard, in that order; a silent turn is heard by nobody."""
    prompts: dict[int, list[str]] = {}
    number = itertools.count(1)

    def some(request: Request) -> str | Reply:
        if request.answers:
            return "5"
        mine = next(number)
        return Reply.failed("timeout") if mine % 7 == 0 else f"Remark {mine}, said once."

    for settings in ({}, {"timing": "sequential"}, {"rule": "posts,feed=chronological,length=3"}, {"rule": "pairs"}):
        number = itertools.count(1)
        model, events = held(network(memory="whole", survey="never", **settings), Fake(some))
        texts = {event.iteration: event.text for event in of(Utterance, events)}
        for agent in model.agents:
            messages = agent.memory.messages("")
            told = "\n".join(message.content for message in messages if message.role == "user")
            prompts[agent.unique_id] = [line.partition(": ")[2] for line in told.split("\n") if ": Remark" in line]
        for agent, told in prompts.items():
            heard = [one for event in of(Heard, events) if event.agent == agent for one in event.iterations]
            assert told == [texts[iteration] for iteration in heard]
        assert None in texts.values()


def test_who_is_not_active_is_not_asked_to_speak_but_hears_and_rates() -> None:
    _, events = held(network(activation="share,share=0.3"))
    spoken = Counter(event.round for event in of(Utterance, events))
    assert spoken == {1: 3, 2: 3, 3: 3}
    silent = {(1, agent) for agent in range(1, 11)} - {(event.round, event.agent) for event in of(Utterance, events)}
    assert silent & {(event.round, event.agent) for event in of(Heard, events)}
    assert Counter(event.round for event in of(Rated, events)) == dict.fromkeys(range(4), 10)


def graph_after(events: list[Event], room: str) -> set[tuple[int, int]]:
    """The links at the end, by the record alone."""
    links: set[tuple[int, int]] = set()
    for event in events:
        if isinstance(event, Unlinked | Linked) and event.room == room:
            pairs = set(event.pairs)
            assert pairs <= links if isinstance(event, Unlinked) else not pairs & links
            links = links - pairs if isinstance(event, Unlinked) else links | pairs
    return links


def test_the_record_has_the_graph_of_every_round() -> None:
    """From round 0 on, change by change, it is that of the model; both ways at first, and everybody hears as many at the end."""
    model, events = held(network(size=20, rewiring="nearer,probability=0.5,beyond=2", rounds=4))
    (room,) = model.rooms
    start = set(of(Linked, events)[0].pairs)
    assert start == {(target, source) for source, target in start}
    assert {event.round for event in of(Unlinked, events)} <= {2, 3, 4}
    assert of(Unlinked, events)
    end = graph_after(events, room.id)
    assert end == set(room.society.links.pairs) != start
    assert Counter(source for source, _ in end) == Counter(source for source, _ in start)
    assert [from_line(to_line(event)) for event in events] == events


def test_rules_see_the_ratings_of_the_last_survey() -> None:
    """Nobody listens to whoever was rated farther away than epsilon the round before; who could not be read hears nobody."""

    def rating(request: Request) -> str:
        if not request.answers:
            return "I see."
        return {"republican": "2", "democrat": "8"}[
            "republican" if "Republican" in request.messages[0].content else "democrat"
        ]

    model, events = held(network(graph="complete", rule="bounded_confidence,epsilon=3"), Fake(rating))
    party = {agent.unique_id: agent.party for agent in model.agents}
    author = {event.iteration: event.agent for event in of(Utterance, events)}
    assert of(Heard, events)
    for event in of(Heard, events):
        assert {party[author[iteration]] for iteration in event.iterations} == {party[event.agent]}
    _, unread = held(network(graph="complete", rule="bounded_confidence"), Fake(lambda request: "Well."))
    assert not of(Heard, unread)
    assert len(of(Utterance, unread)) == 30


@check_each(
    "settings",
    [
        {"rewiring": "nearer,probability=1,beyond=1", "rule": "posts,feed=hot"},
        {"timing": "sequential", "activation": "hawkes"},
        {"rule": "bounded_confidence", "activation": "poisson"},
        {"rule": "pairs", "timing": "sequential"},
        {"rule": "sequential"},
    ],
)
def test_the_order_of_completion_does_not_show(settings: dict[str, str]) -> None:
    """Whatever lands first, and in whatever lots: the same seed gives the same record, and another one another."""
    expected = held(network(**settings))[1]
    assert held(network(**settings), Scrambled(opinionated, 4, seed=3))[1] == expected
    assert held(network(seed=5, **settings))[1] != expected


def test_the_graph_is_drawn_for_each_repetition_and_the_same_on_every_topic() -> None:
    scenario = network(topic="racism,climate_change", repetitions=2, graph="small_world,degree=4", rounds=0)
    model, events = held(scenario)
    first = {event.agent: event.room for event in of(Seated, events)}
    by_room = {}
    for event in of(Linked, events):
        base = min(agent for agent, room in first.items() if room == event.room)
        by_room[event.room] = {(source - base, target - base) for source, target in event.pairs}
    one, two, *others = (by_room[room.id] for room in model.rooms)
    assert one != two
    assert others == [one, two]


def test_names_are_unique_however_many_people_there_are() -> None:
    """A persona that comes again has a second name, in its backstory too; each comes once before any comes twice."""
    _, events = held(network(size=300, rounds=0, survey="never"))
    seated = of(Seated, events)
    assert len({event.name for event in seated}) == 300
    assert set(Counter(event.persona for event in seated).values()) == {3, 4}
    model = DebateModel(network(size=300, rounds=0, survey="never"), backend=Fake(opinionated))
    namesakes = [agent for agent in model.agents if " " in agent.name]
    assert len(namesakes) == 220
    assert all(agent.name in agent.persona.backstory for agent in namesakes)


def test_more_seats_than_personas_need_a_drawn_cast() -> None:
    with pytest.raises(UserError, match="set cast=drawn, which may use a persona more than once"):
        DebateModel(network(size=100, cast="circle"), backend=Fake(opinionated))


@check_each(
    ("settings", "told"),
    [
        ({"size": 10, "graph": "ring,degree=4"}, "10 people take part in all, and you hear 4 of them."),
        ({"size": 30, "graph": "ring,degree=6"}, "30 people take part in all, and you hear 6 of them."),
        ({"size": 10, "rewiring": "nearer"}, "10 people take part in all, and you hear 4 of them at first."),
        ({"size": 4, "graph": "complete"}, ""),
        (
            {"size": 4, "graph": "complete", "rule": "pairs"},
            "4 people take part in all, and you hear 3 of them at first.",
        ),
    ],
)
def test_what_somebody_is_told_of_the_network(settings: dict[str, Any], told: str) -> None:
    """Up to five whom it hears by their names, else their number alone; of a table of few, what it is told at a table."""
    model = DebateModel(network(rounds=0, **settings), backend=Fake(opinionated))
    names = {agent.unique_id: agent.name for agent in model.agents}
    for agent in model.agents:
        hears = [names[one] for one in model.rooms[0].society.links.hears[agent.unique_id]]
        listed = f"; the others are {', '.join(hears[:-1])} and {hears[-1]}. " if len(hears) <= 5 else ". "
        assert f"You are {agent.name}{listed}Speak only for yourself" in agent.memory.opening
        assert agent.memory.opening.endswith(told or "at most 60 words.")


def test_nobody_writes_the_lines_of_those_whom_it_hears() -> None:
    """Named in the opening or not: whoever was heard is known, and a reply ends where it begins to speak for one of them."""
    model = DebateModel(network(size=30, graph="ring,degree=6", rounds=0), backend=Fake(opinionated))
    one, other, *_ = model.agents
    reply = Reply(f"I agree.\n{other.name}: So do I.")
    assert one.absorb_speech(reply).text == f"I agree. {other.name}: So do I."
    one.hear(other.name, "Good evening.")
    assert one.absorb_speech(reply).text == "I agree."


def test_the_grid_is_the_network_as_it_is_now(small: Small) -> None:
    """A space of Mesa's on both versions, a cell a person of every networked room; a round table has none."""
    model = DebateModel(network(repetitions=2, rewiring="nearer,probability=1,beyond=1"), backend=Fake(opinionated))
    assert isinstance(model.grid, mesa.discrete_space.Network)
    assert model.grid is model.grid
    assert sorted(model.grid.G.nodes) == list(range(len(model.agents)))  # Mesa draws the nodes 0, 1, 2, ... only
    agents = dict(model.grid.G.nodes(data="agent"))
    assert all(agents[agent.cell.coordinate] == agent.unique_id for agent in model.grid.agents)
    before = set(model.grid.G.edges)
    model.run()
    after = {pair for room in model.rooms for pair in room.society.links.pairs}
    assert {frozenset((agents[one], agents[other])) for one, other in model.grid.G.edges} == set(map(frozenset, after))
    assert set(model.grid.G.edges) != before
    assert all(len(cell.agents) == 1 for cell in model.grid.all_cells)
    assert DebateModel(small(), backend=Fake(opinionated)).grid is None


def test_mesa_draws_the_grid_of_a_graph_with_names() -> None:
    """Mesa's own drawing of a network takes nodes as places in an array; labels and attributes of the user's graph are kept."""
    graph = nx.Graph([("Ann", "Bea"), ("Bea", "Cem")])
    graph.nodes["Bea"]["district"] = "north"
    model = DebateModel(network(rounds=1, repetitions=2), topology=graph, backend=Fake(opinionated))
    visualization = pytest.importorskip("mesa.visualization")  # with the packages of the page
    assert visualization.draw_space(
        model.grid, lambda _: visualization.components.AgentPortrayalStyle(color="tab:blue")
    ).collections
    assert [name for _, name in model.grid.G.nodes(data="name")] == ["Ann", "Bea", "Cem"] * 2
    assert model.grid.G.nodes[1]["district"] == "north"


def test_an_agent_that_is_removed_neither_speaks_nor_rates() -> None:
    """Mesa's `agent.remove()` takes a person out of the debate, not only out of the data."""
    recorder = MemoryRecorder()
    model = DebateModel(network(), backend=Fake(opinionated), recorder=recorder)
    model.step()
    leaving = next(iter(model.agents))
    leaving.remove()
    assert leaving not in model.grid.agents
    model.run()
    spoken = {
        event.round: event
        for event in recorder.events
        if isinstance(event, Utterance) and event.agent == leaving.unique_id
    }
    rated = {
        event.round: event for event in recorder.events if isinstance(event, Rated) and event.agent == leaving.unique_id
    }
    assert spoken[1].text
    assert {spoken[2].reason, spoken[3].reason, rated[2].reason, rated[3].reason} == {"absent"}
    assert leaving.unique_id not in set(model.datacollector.get_agent_vars_dataframe().loc[2].index)


@check_each("preset", ["herding", "trust_game", "platform", "news_evolution", "network", "three_way", "consensus"])
def test_a_class_made_from_an_environment_of_ours_runs_as_it_does(preset: str, tmp_path: Path) -> None:
    """A user's environment begins as a subclass: its agents get the seats of the class that it is made from."""
    small = {"llm": "oracle", "repetitions": 1, "rounds": 1, "topic": ",".join(load_preset(preset).subject.topic[:1])}
    kind = type(load_preset(preset).environment)
    path = tmp_path / "mine.py"
    path.write_text(
        f"from dataclasses import dataclass\nfrom {kind.__module__} import {kind.__name__}\n"
        f"@dataclass(frozen=True)\nclass Mine({kind.__name__}):\n    pass\n"
    )
    ours = load_preset(preset, small)
    mine = ours.with_settings({"environment": f"{path}:Mine", **ours.environment_spec.options})
    assert held(mine, open_spec("oracle"))[1] == held(ours, open_spec("oracle"))[1]


@check_each("settings", [{"rule": "bounded_confidence"}, {"rewiring": "nearer"}, {"rule": "posts,feed=hot"}])
@check_each("survey", ["ends", "never"])
def test_what_goes_by_attitudes_needs_them(settings: dict[str, str], survey: str) -> None:
    with pytest.raises(UserError, match="needs ratings after each round: set survey=rounds"):
        network(survey=survey, **settings)


def test_the_plan_says_about_where_chance_decides() -> None:
    """Exact where it can be, and said to be about where it cannot."""
    exact, drawn = network(activation="share,share=0.3"), network(activation="poisson", repetitions=30)
    plan = plan_run(exact)
    assert (plan.agents, plan.rooms, plan.replies, plan.ratings) == (10, 1, 9, 40)
    assert "  49 calls" in "\n".join(estimate_lines(exact, {}))
    assert "  about 1," in "\n".join(estimate_lines(drawn, {}))
    _, events = held(network(activation="poisson", repetitions=30))
    assert plan_run(drawn).replies == pytest.approx(len(of(Utterance, events)), rel=0.25)


def test_a_graph_that_cannot_be_is_one_line_and_a_changed_file_another_experiment(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_text("a b\nb c\n")
    scenario = network(size=3, graph=f"file,path={path}")
    first = make_header(scenario, (), Fake(opinionated)).data
    path.write_text("a b\na c\n")
    assert make_header(scenario, (), Fake(opinionated)).data != first
    with pytest.raises(UserError, match=r"environment network: .* 3 nodes, but there are 10 agents: set size=3"):
        DebateModel(network(graph=f"file,path={path}"), backend=Fake(opinionated))
