"""Models of people: a drawn share of the seats, and personas that name a model of their own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from parley.analysis.disclaimers import model_label, own_models
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.arguments import party_of
from parley.model.debate import DebateModel
from parley.model.model_shares import share_of
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

PERSONAS = """
[[persona]]
name = "Ann"
backstory = "You are Ann, a Red."
llm = "oracle,kappa=0"

[[persona]]
name = "Bob"
backstory = "You are Bob, a Red."
"""


def rooms(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings(
        {"topic": "racism,abortion", "rounds": 0, "repetitions": 10, **settings}
    )


def spoken_by(scenario: Scenario) -> dict[tuple[str, int, str], set[str]]:
    """The voices of each seat of each repetition, over all topics, without the reference."""
    model = DebateModel(scenario)
    found: dict[tuple[str, int, str], set[str]] = {}
    for room in model.debating_rooms:
        seating = model.seatings[room.id]
        for agent in room.members.values():
            found.setdefault((seating.group, seating.repetition, agent.seat), set()).add(agent.voice)
    return found


def test_a_share_is_exact_and_the_same_on_every_topic() -> None:
    """30% and 20% of 30 seats are 9 and 6, wherever the seed puts them; a seat keeps its model on another topic."""
    found = spoken_by(rooms(llm="oracle", llms=("30%=oracle,kappa=0", "20%=fake")))
    assert all(len(voices) == 1 for voices in found.values())
    assert Counter(voice for (voice,) in found.values()) == {"": 15, "30%": 9, "20%": 6}
    other = spoken_by(rooms(llm="oracle", llms=("30%=oracle,kappa=0", "20%=fake"), seed=1))
    assert other != found


def test_the_record_says_which_model_speaks_for_whom(tmp_path: Path) -> None:
    """In the table of agents, for every agent; and calls and costs are counted by share."""
    scenario = rooms(
        llm="oracle", llms=("democrat=oracle,kappa=0.1", "30%=fake"), reference="", rounds=1, topic="racism"
    )
    run_scenario(RunSpec(scenario, tmp_path / "run"))
    tables = load(tmp_path / "run")
    counts = Counter(zip(tables.agents["party"], tables.agents["llm"], strict=True))
    assert counts["democrat", "oracle,kappa=0.1"] == 10
    assert sum(number for (_, llm), number in counts.items() if llm == "fake") == 6
    assert sum(number for (_, llm), number in counts.items() if llm == "oracle") == 14
    assert "30%: fake" in model_label(tables.header)


def test_reports_name_the_model_of_the_second_debater(tmp_path: Path) -> None:
    """`second=SPEC` is the model of that party: the record has its name, and captions and reports find it."""
    scenario = rooms(llm="oracle", llms=("second=oracle,kappa=0.1",), reference="", repetitions=1, topic="racism")
    run_scenario(RunSpec(scenario, tmp_path / "run"))
    header = load(tmp_path / "run").header
    assert own_models(header) == {"democrat": "oracle,kappa=0.1"}
    assert "democrat: oracle,kappa=0.1 (known-truth speaker)" in model_label(header)


def test_a_party_and_a_seat_come_before_a_share() -> None:
    """A share is one of the other agents: half of twenty, when the ten Republicans have a model of their own."""
    found = spoken_by(rooms(llm="oracle", llms=("republican=fake", "50%=oracle,kappa=0")))
    assert Counter((seat, voice) for (_, _, seat), (voice,) in found.items() if seat == "republican") == {
        ("republican", "republican"): 10
    }
    assert Counter(voice for (voice,) in found.values())["50%"] == 10


def test_every_agent_may_be_in_the_shares() -> None:
    found = spoken_by(rooms(llm="fake", llms=("70%=oracle", "30%=oracle,kappa=0")))
    assert Counter(voice for (voice,) in found.values()) == {"70%": 21, "30%": 9}


def test_a_persona_speaks_through_the_model_that_it_names(tmp_path: Path) -> None:
    """Before the model of its party, after that of its seat."""
    (tmp_path / "red.toml").write_text(PERSONAS)
    seats = {"personas": f"{tmp_path}/", "seats": "red,red", "reference": "", "llm": "oracle", "repetitions": 3}
    model = DebateModel(rooms(**seats, llms=("red=fake",)))
    assert {(agent.name, agent.voice) for agent in model.agents} == {("Ann", "oracle,kappa=0"), ("Bob", "red")}
    assert set(model.setup.llm_by_party.values()) == {"fake", "oracle,kappa=0"}
    seated = DebateModel(rooms(**seats, llms=("red 1=fake",)))
    assert {agent.voice for agent in seated.agents if agent.seat == "red 1"} == {"red 1"}


@pytest.mark.parametrize(
    ("llms", "told"),
    [
        (("60%=oracle", "50%=fake"), "more than 100%"),
        (("0%=oracle",), "no agent"),
        (("1%=oracle",), "1% of 30 seats is less than one seat"),
        (("30%=surrogate:a.json",), "replaces a whole party or one seat"),
        (("30%",), "unknown party of llms|does not have the form PARTY=SPEC"),
        (("whig%=oracle",), "unknown party of llms"),
    ],
)
def test_what_cannot_be_a_share_is_one_line(llms: tuple[str, ...], told: str) -> None:
    with pytest.raises(UserError, match=told):
        rooms(llms=llms)


def test_a_share_is_told_from_a_party_and_a_model() -> None:
    assert [share_of(who) for who in ("30%", "2.5%", "%", "republican")] == [0.3, 0.025, None, None]
    assert [party_of(spec) for spec in ("30%=oracle,kappa=0", "oracle,kappa=0")] == ["30%", ""]
