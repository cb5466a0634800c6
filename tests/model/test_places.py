"""The same people in several places and stages: who hears what, what is remembered, and that one place is an old scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import parley
from parley.llm.errors import UserError
from parley.model.branching import plan_branch
from parley.model.events import Event, Gathered, Heard, Intervened, Linked, Rated, Unlinked, Utterance
from parley.model.interventions.links import Links
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.scenario import load_preset

FEW: dict[str, Any] = {"topic": "racism", "repetitions": 1, "reference": "", "cast": "drawn"}
BLOCKS = "graph='blocks,degree=4,homophily=0.8'"


def ran(preset: str = "three_way", **settings: Any) -> tuple[parley.DebateModel, list[Event]]:
    """A model that has run on the oracle, and its events."""
    recorder = MemoryRecorder()
    model = parley.DebateModel(preset, llm="oracle", rng=3, recorder=recorder, **{**FEW, **settings})
    model.run()
    return model, recorder.events


def of(events: list[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def lines(events: list[Event]) -> list[str]:
    """The record without who sits where, and without the name of the group."""
    kept = [to_line(event) for event in events if not isinstance(event, Gathered)]
    return [line.replace("republican+democrat+default", "G").replace("1 G", "G") for line in kept]


def test_a_table_of_all_is_the_debate_of_three_to_the_byte() -> None:
    """The debate of three is the case of one place: prompts, turns, seeds and ratings are those of the old scenario."""
    settings: dict[str, Any] = {"repetitions": 3, "rounds": 2, "cast": "circle"}
    _, old = ran(**settings)
    _, new = ran(topology="rooms,size=3", parties="first,second,default", size=3, **settings)
    assert lines(new) == lines(old)


@pytest.mark.parametrize(
    ("preset", "topology"),
    [("network", f"network,{BLOCKS}"), ("network", f"network,{BLOCKS},rule=pairs"),
     ("network", f"network,{BLOCKS},rule=posts"), ("platform", f"medium,{BLOCKS}")],
)  # fmt: skip
def test_a_network_of_all_is_the_old_population_to_the_byte(preset: str, topology: str) -> None:
    rule = topology.partition("rule=")[2] or "neighbours"
    options: dict[str, Any] = {"rule": rule} if preset == "network" else {"activation": "every"}
    _, old = ran(preset, graph="blocks,degree=4,homophily=0.8", size=12, rounds=2, **options)
    _, new = ran(preset, topology=topology, size=12, rounds=2)
    assert lines(new) == lines(old)


def test_who_sits_in_two_places_hears_both() -> None:
    """A person hears its table and those whom it follows in the network, in one memory."""
    model, events = ran(topology="rooms,size=4 + network,graph='ring,degree=4'", size=12, rounds=1)
    (room,) = model.debating_rooms
    tables = [set(event.members) for event in of(events, Gathered) if event.place == "rooms"]
    follows = {
        hearer: {heard for source, heard in of(events, Linked)[0].pairs if source == hearer} for hearer in room.members
    }
    author = {event.iteration: event.agent for event in of(events, Utterance)}
    heard: dict[int, set[int]] = {number: set() for number in room.members}
    for event in of(events, Heard):
        heard[event.agent] |= {author[iteration] for iteration in event.iterations}
    for person in room.members:
        (table,) = [table for table in tables if person in table]
        assert heard[person] == (table - {person}) | follows[person]
    names = {room.members[number].name for number in heard[1]}
    remembered = "\n".join(message.content for message in room.members[1].memory.messages("")).splitlines()
    assert {line.partition(":")[0] for line in remembered if ":" in line} >= names


def test_every_line_has_a_number_of_its_own() -> None:
    """Tables count their turns together, so what was heard names one line."""
    _, events = ran(topology="rooms,size=4 > mediated,size=4 > echo,size=3", size=12, rounds=4)
    numbers = [event.iteration for event in of(events, Utterance)]
    assert len(set(numbers)) == len(numbers)
    spoken = {event.iteration for event in of(events, Utterance) if event.text}
    assert {iteration for event in of(events, Heard) for iteration in event.iterations} <= spoken


def test_nobody_hears_what_is_said_at_another_table() -> None:
    model, events = ran(topology="echo,size=3", size=12, rounds=1)
    table_of = {member: event.table for event in of(events, Gathered) for member in event.members}
    author = {event.iteration: event.agent for event in of(events, Utterance)}
    pairs = [(event.agent, author[line]) for event in of(events, Heard) for line in event.iterations]
    assert pairs
    assert all(table_of[hearer] == table_of[speaker] for hearer, speaker in pairs)
    places = model.datacollector.get_agent_vars_dataframe()["place"]
    assert set(places) == {f"echo {number}" for number in range(1, 5)}


def test_a_stage_is_remembered_in_the_next_one_unless_it_is_not_carried() -> None:
    """The prompt of the second stage has the lines of the first one; with carry=none it begins anew."""
    for carry in ("all", "none"):
        model, events = ran(topology=["rooms,size=4", {"topology": "echo,size=3", "carry": carry}], size=12, rounds=2)
        first = {event.text for event in of(events, Utterance) if event.round == 1}
        prompt = "\n".join(message.content for message in model.agents[0].memory.messages(""))
        assert any(text in prompt for text in first) == (carry == "all")
        assert ("A new part begins now." in prompt) == (carry == "all")


def test_swapped_memories_are_those_of_another_person_of_the_party() -> None:
    """Each person's own line of the first stage is in the prompt of exactly one other person of its party."""
    model, events = ran(topology=["rooms,size=4", {"topology": "echo,size=3", "carry": "swapped"}], size=12, rounds=2)
    own = {event.agent: event.text for event in of(events, Utterance) if event.round == 1}
    for person, text in own.items():
        heirs = [
            agent
            for agent in model.agents
            if any(message == ("assistant", text) for message in agent.memory.messages(""))
        ]
        (heir,) = heirs
        assert heir.unique_id != person
        assert heir.party == next(agent.party for agent in model.agents if agent.unique_id == person)


def test_people_go_from_topic_to_topic_with_their_memory() -> None:
    """Each topic has its own room with rounds of its own; the same person remembers the first topic in the second."""
    stages = [
        {"topology": "rooms,size=4", "rounds": 2, "topic": "racism"},
        {"topology": "network,graph='ring,degree=4'", "rounds": 1, "topic": "climate_change"},
        {"topology": "rooms,size=4", "rounds": 1, "topic": "racism"},
    ]
    model, events = ran(topology=stages, topic="racism,climate_change", size=12, rounds=4)
    rounds = {
        room.topic: [event.round for event in of(events, Rated) if event.room == room.id]
        for room in model.debating_rooms
    }
    assert {topic: sorted(set(numbers)) for topic, numbers in rounds.items()} == {
        "racism": [0, 1, 2, 3],
        "climate_change": [0, 1],
    }
    order = [event.room.partition("/")[0] for event in of(events, Utterance)]
    assert order == ["racism"] * 24 + ["climate_change"] * 12 + ["racism"] * 12
    racism, climate = model.debating_rooms
    assert all(one.memory is other.memory and one.persona == other.persona
               for one, other in zip(racism.members.values(), climate.members.values(), strict=True))  # fmt: skip
    rows = model.datacollector.get_model_vars_dataframe().iloc[1:]
    assert rows["stage_topic"].tolist() == ["racism", "racism", "climate_change", "racism"]
    for topic in ("racism", "climate_change"):
        of_topic = rows["stage_topic"] == topic
        assert rows.loc[of_topic, "mean_democrat"].equals(rows.loc[of_topic, f"mean_democrat_{topic}"])
    collected = model.datacollector.get_agent_vars_dataframe()["attitude"].unstack(level=0)
    assert collected.loc[list(climate.members)].notna().to_numpy().any(axis=0).tolist() == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_who_is_away_for_a_stage_comes_back() -> None:
    """Their ratings are missing with a reason in that stage, and there again after it."""
    stages = [{"topology": "rooms,size=3", "rounds": 1}, {"topology": "rooms,size=3", "rounds": 1, "away": 0.25},
              {"topology": "rooms,size=3", "rounds": 1}]  # fmt: skip
    _, events = ran(topology=stages, size=12, rounds=3)
    away = {event.agent for event in of(events, Rated) if event.reason == "absent"}
    assert len(away) == 3
    assert {event.round for event in of(events, Rated) if event.reason == "absent"} == {2}
    assert all(event.rating is not None for event in of(events, Rated) if event.round == 3)
    assert not away & {member for event in of(events, Gathered) if event.stage == 2 for member in event.members}


def test_interventions_reach_people_in_several_places() -> None:
    """A person leaves in the second stage for good, and everybody hears a message before the third round."""
    changes = [
        parley.Leave(round=2, to=("republican 1",)),
        parley.Message(round=3, by="Ann", text="Think of the cost."),
    ]
    model, events = ran(topology="rooms,size=4 > echo,size=3", size=12, rounds=3, interventions=changes)
    gone = model.agents[0]
    assert [event.reason for event in of(events, Rated) if event.agent == gone.unique_id] == [
        None,
        None,
        "absent",
        "absent",
    ]
    prompts = ["\n".join(message.content for message in agent.memory.messages("")) for agent in model.agents]
    assert ["Think of the cost." in prompt for prompt in prompts] == [False] + [True] * 11


@pytest.mark.parametrize("place", ["network", "medium"])
def test_links_change_in_the_network_of_a_stage_for_those_who_are_there(place: str) -> None:
    """Who does not take part in the network has no link in it, and rooms have none at all."""
    cut = Links(round=2, change="remove", to=("republican",))
    topology = f"rooms,size=4 [rounds=1] > rooms,size=4 + {place},graph='ring,degree=4',share=0.75 [rounds=2]"
    model, events = ran(topology=topology, size=12, rounds=3, interventions=[cut])
    party = {agent.unique_id: agent.party for agent in model.agents}
    (made,), (removed,) = of(events, Linked), of(events, Unlinked)
    assert set(removed.pairs) == {pair for pair in made.pairs if party[pair[0]] == "republican"}
    assert len(made.pairs) == 9 * 4
    assert model.debating_rooms[0].society.links.pairs == tuple(
        pair for pair in made.pairs if pair not in removed.pairs
    )
    every = Links(round=2, every=1, change="remove", to=("republican",))
    _, events = ran(
        topology=f"{place},graph='ring,degree=4' > {place},graph='ring,degree=4' > rooms",
        size=12,
        rounds=3,
        interventions=[every],
    )
    assert [event.reason for event in of(events, Intervened)] == [None, "no_link_to_change"]


def test_a_mediated_group_deliberates_on_a_topic() -> None:
    """Members hear only the mediator, and the mediator writes a statement for each group in each round."""
    _, events = ran(topology="mediated,size=4", size=8, rounds=2)
    said = of(events, Utterance)
    assert [(event.form, event.text is not None) for event in said if event.agent == 0] == [
        ("draft", True), ("draft", True), ("revision", True), ("revision", True)]  # fmt: skip
    mediator = {event.iteration for event in said if event.agent == 0}
    assert {line for event in of(events, Heard) for line in event.iterations} == mediator


def test_links_of_a_stage_vanish_with_it() -> None:
    _, events = ran(topology="network,graph='ring,degree=4' > rooms > network,graph='ring,degree=2'", size=12, rounds=3)
    assert [len(event.pairs) for event in of(events, Linked)] == [48, 24]
    assert [(event.round, len(event.pairs)) for event in of(events, Unlinked)] == [(2, 48)]


def test_a_survey_alone_and_a_run_that_ends_within_the_stages() -> None:
    """Without a round, people are only asked, as those who will sit there; with one, the first stage begins and ends."""
    model, events = ran(topology="rooms,size=4 > echo", size=12, rounds=0)
    assert {event.round for event in of(events, Rated)} == {0}
    assert "You are" in model.agents[0].memory.messages("")[-1].content
    _, events = ran(
        topology=[{"topology": "rooms,size=4", "rounds": 2}, {"topology": "echo", "rounds": 2}], size=12, rounds=1
    )
    assert {event.place for event in of(events, Gathered)} == {"rooms"}


def test_a_topic_that_comes_back_knows_the_ratings_of_its_last_round() -> None:
    """A rule by attitude goes by the last rating on the topic, though the round before was about another one."""
    stages = [
        {"topology": "rooms,size=3", "rounds": 1, "topic": "racism"},
        {"topology": "rooms,size=3", "rounds": 1, "topic": "abortion"},
    ]
    last = {"network": {"graph": "complete", "rule": "bounded_confidence,epsilon=10"}}
    _, events = ran(
        topology=[*stages, {"topology": last, "rounds": 1, "topic": "racism"}],
        topic="racism,abortion",
        size=6,
        rounds=3,
    )
    heard = [event for event in of(events, Heard) if event.room.startswith("racism") and event.round == 2]
    assert sum(len(event.iterations) for event in heard) == 30


def test_who_joins_takes_its_seat_and_who_left_stays_away() -> None:
    """A person who is absent at first has a seat, and talks from the round in which it joins. Who left does not come back with
    those who missed a stage, nor on the next topic.
    """
    model, events = ran(
        topology="rooms,size=4", size=8, rounds=2, interventions=[parley.Join(round=2, to=("republican 1",))]
    )
    said = {(event.agent, event.round): event.text for event in of(events, Utterance)}
    assert said[1, 1] is None
    assert said[1, 2]
    stages = [{"topology": "rooms,size=4", "rounds": 2, "topic": "racism", "away": 0.25},
              {"topology": "rooms,size=4", "rounds": 1, "topic": "abortion"}]  # fmt: skip
    model, events = ran(topology=stages, topic="racism,abortion", size=8, rounds=3,
                        interventions=[parley.Leave(round=2, to=("democrat",))])  # fmt: skip
    abortion = [event for event in of(events, Rated) if event.room.startswith("abortion")]
    party = {agent.unique_id: agent.party for agent in model.agents}
    assert {party[event.agent] for event in abortion if event.reason == "absent"} == {"democrat"}
    assert {party[event.agent] for event in abortion if event.reason is None} == {"republican"}


def test_surveys_after_each_stage() -> None:
    _, events = ran(topology="rooms > echo", size=12, rounds=4, survey="stages")
    assert sorted({event.round for event in of(events, Rated)}) == [0, 2, 4]


def test_a_preset_with_stages_is_resumed_to_the_byte(tmp_path: Path) -> None:
    """The record's header holds the stages, and a run read from it is the same run."""
    preset = tmp_path / "stages.toml"
    preset.write_text(
        'title = "Rooms, then a network"\nsource = "own"\ntopic = ["racism"]\ncast = "drawn"\nrepetitions = 1\n'
        '[options]\nsize = 12\n[[stage]]\ntopology = "rooms,size=4"\nrounds = 2\n'
        "[[stage]]\ntopology = \"network,graph='ring,degree=4' + echo,size=3\"\nrounds = 1\naway = 0.2\n"
    )
    scenario = load_preset(str(preset), {"llm": "oracle"})
    assert scenario.rounds == 3, "the rounds of the stages"
    parley.run(scenario, out=tmp_path / "run")
    record = (tmp_path / "run" / "record.jsonl").read_bytes()
    (tmp_path / "run" / "record.jsonl").unlink()
    parley.run(scenario, out=tmp_path / "run")
    assert (tmp_path / "run" / "record.jsonl").read_bytes() == record


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"topology": [{"topology": "rooms", "rounds": 1}], "rounds": 2}, "set rounds=1"),
        (
            {"topology": [{"topology": "rooms", "topic": "racism"}, "echo"], "topic": "racism,abortion"},
            "give every stage a topic",
        ),
        ({"topology": "rooms", "environment": "network"}, "leave out environment=network"),
        ({"topology": [{"topology": "rooms", "topic": "abortion"}]}, "a stage is about abortion"),
        ({"topology": "rooms,who=green"}, "who=green"),
        ({"topology": "rooms", "format": "structured"}, "set format=free"),
        ({"topology": "rooms", "sides": "assigned"}, "sides=own"),
        ({"topology": "network,graph='ring,degree=4' [away=0.5]", "size": 6}, "network in stage 1: each of 3 agents"),
        ({"topology": "rooms [away=0.9]", "size": 6}, "stage 1 has no one left who talks"),
        (
            {
                "topology": "rooms [rounds=1, topic=racism] > rooms [rounds=1, topic=abortion]",
                "topic": "racism,abortion",
                "rounds": 2,
                "interventions": [parley.Message(round=2, by="Ann", text="Hello.")],
            },
            "no topic has more than 1",
        ),
        (
            {
                "topology": "network,graph='ring,degree=4' [rounds=1] > rooms [rounds=1]",
                "rounds": 2,
                "interventions": [Links(round=2, change="remove")],
            },
            "then people are in rooms, which has none",
        ),
        ({"topology": "rooms", "interventions": [Links(round=2, change="remove")]}, "choose a round of a stage"),
        ({"topology": "rooms", "size": 10**12}, "size is .*, but must be between 0 and"),
        ({"topology": {"rooms": 5}}, "a place is a name with its options"),
        ({"topology": {1: {}}}, "a place is a name with its options"),
        ({"topology": [{"topology": "rooms > echo", "rounds": 1}]}, "a separate stage"),
        ({"topology": "rooms [rounds=2"}, "one pair of brackets"),
        ({"topology": "rooms >"}, "lacks a place"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_set(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parley.DebateModel("three_way", **{**FEW, **settings})


def test_a_branch_at_a_later_topic_keeps_everything_before_it(tmp_path: Path) -> None:
    """Rounds of an intervention are counted within a topic, those of a branch in the run: the first topic stays as it was."""
    stages = [{"topology": "rooms,size=4", "rounds": 2, "topic": "racism"},
              {"topology": "echo,size=4", "rounds": 2, "topic": "abortion"}]  # fmt: skip
    fields = {**FEW, "repetitions": 2, "topic": "racism,abortion", "size": 8, "rounds": 4, "llm": "oracle"}
    parley.run("three_way", **fields, topology=stages, out=tmp_path / "a")
    plan = plan_branch(
        tmp_path / "a", 3, tmp_path / "b", {"temperature": 0.2}, ["message by=Ann text='Think of the cost.'"]
    )
    assert [(added.kind, added.round, len(added.rooms)) for added in plan.spec.scenario.interventions] == [
        ("speech", 1, 2), ("message", 1, 2)]  # fmt: skip
    branch = parley.branch(
        tmp_path / "a", 4, out=tmp_path / "b", interventions=["message by=Ann text='Think of the cost.'"]
    )
    parent = parley.load(tmp_path / "a")
    topics = {"racism": 3, "abortion": 2}  # rounds with the survey before the first
    for topic, shared in topics.items():
        mine, theirs = (
            run.attitudes[(run.attitudes["topic"] == topic) & (run.attitudes["round"] < shared)]
            for run in (branch, parent)
        )
        assert len(mine) == shared * 16
        assert mine["attitude"].tolist() == theirs["attitude"].tolist()
    assert set(branch.tables.interventions["room"].str.partition("/")[0]) == {"abortion"}
    assert "cannot be compared" not in branch.summary
    with pytest.raises(UserError, match="set round=1 or later, and name its rooms"):
        plan_branch(tmp_path / "a", 3, tmp_path / "c", interventions=["message round=1 by=Ann text='Think.'"])
