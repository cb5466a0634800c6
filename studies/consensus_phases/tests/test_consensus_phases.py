"""People with two answers: what each is told, what others see, the whole study on speakers whose law is known, and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from standins import Scrambled

import run
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Event
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.studies.consensus_phases.environment import TwoAnswers
from parley.studies.consensus_phases.events import TookSide
from parley.studies.consensus_phases.law import ResponseLaw
from parley.studies.consensus_phases.report import Plan, conditions


def people(**settings: object) -> Scenario:
    return load_preset("consensus_phases", {"repetitions": 1, "rounds": 2, "size": 3} | settings)


def record(scenario: Scenario, backend: Any = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return list(recorder.events)


def answers(events: list[Event]) -> list[TookSide]:
    return [event for event in events if isinstance(event, TookSide)]


def agrees(request: Request) -> str:
    """Answer with the letter of "I agree."."""
    return "A" if "A: I agree." in request.messages[-1].content else "B"


def study(folder: Path, *words: str) -> pd.DataFrame:
    given = ["study", "consensus-phases", "--topic", "meeting_day", "--out", str(folder), *words]
    assert run.main(given) == 0
    return pd.read_csv(folder / "responses.csv")


def test_people_see_the_last_answers_of_the_others_and_not_their_own() -> None:
    """In round 1 nothing; in round 2 the two others of three. The first agrees, the second and third do not."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        agree = agrees(request)
        return agree if len(asked) % 3 == 1 else "AB"["BA".index(agree)]

    made = answers(record(people(), Fake(answer)))
    assert all("You do not know the answer of anybody else." in request.messages[-1].content for request in asked[:3])
    assert [event.side for event in made[:3]] == ["for", "against", "against"]
    assert [(event.agree, event.others) for event in made[3:]] == [(0, 2), (1, 2), (1, 2)]
    assert (
        "Of the 2 other people, 0 answered that they agree, and 2 answered that they do not agree."
        in asked[3].messages[-1].content
    )
    assert all("Tuesday" in request.messages[0].content + request.messages[1].content for request in asked)
    assert all(request.answers == ("A", "B") for request in asked)


def test_a_group_can_be_told_that_all_others_agree_at_first() -> None:
    made = answers(record(people(begins="for", rounds=1), Fake(agrees)))
    assert {(event.agree, event.others) for event in made} == {(2, 2)}
    against = answers(record(people(begins="against", rounds=1), Fake(agrees)))
    assert {(event.agree, event.others) for event in against} == {(0, 2)}


def test_a_letter_is_read_by_the_order_in_which_the_answers_were_listed() -> None:
    """Who always says A is for and against, by the order; a draw lists each side first now and then."""
    made = answers(record(people(size=8, rounds=3), Fake(lambda request: "A")))
    assert {(event.listed_first, event.side) for event in made} == {("for", "for"), ("against", "against")}


def test_a_missing_answer_is_missing_and_the_last_one_is_seen() -> None:
    """The first person answers in round 1 and never again; in round 3 the others still see its first answer."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return agrees(request) if len(asked) <= 3 or len(asked) % 4 == 1 else "Well."

    made = answers(record(people(rounds=3), Fake(answer)))
    lost = [event for event in made if event.side is None]
    assert lost
    assert all(event.reason and event.asked == 2 for event in lost)
    assert all(event.others == 2 for event in made[3:])
    failed = answers(record(people(rounds=1), Fake(lambda request: Reply.failed("timeout"))))
    assert {(event.side, event.reason) for event in failed} == {(None, "timeout")}


def test_a_curve_asks_each_number_in_both_orders_and_shows_no_real_answer() -> None:
    made = answers(record(people(told="curve", rounds=8), Fake(agrees)))
    first = [(event.agree, event.others, event.listed_first) for event in made if event.agent == made[0].agent]
    assert sorted(first) == sorted(
        [(0, 0, "for"), (0, 0, "against"), *((number, 2, side) for number in (0, 1, 2) for side in ("for", "against"))]
    )
    with pytest.raises(UserError, match="--rounds 8"):
        record(people(told="curve", rounds=5), Fake(agrees))


@pytest.mark.parametrize("size", range(2, 30))
def test_numbers_of_a_curve_reach_from_none_to_all_and_mirror_each_other(size: int) -> None:
    numbers = TwoAnswers(size=size).numbers
    assert (numbers[0], numbers[-1]) == (0, size - 1)
    assert [size - 1 - number for number in reversed(numbers)] == list(numbers)


def test_the_same_seed_gives_the_same_record_in_any_order_of_replies() -> None:
    scenario = people(size=4)

    def opinionated(request: Request) -> str:
        return "AB"[sum(map(ord, request.messages[-1].content)) % 2]

    assert record(scenario, Fake(opinionated)) == record(scenario, Scrambled(opinionated, 7))
    assert record(scenario) != record(scenario.with_settings({"seed": 1}))


@pytest.mark.parametrize("option", ["side_noise=1.5", "side_noise=-0.1", "side_spread=-1"])
def test_an_impossible_law_is_refused(option: str) -> None:
    with pytest.raises(UserError, match="Example: oracle,conformity"):
        record(people(llm=f"oracle,{option}"))
    ResponseLaw().check()


SMALL = ("--sizes", "3", "--respondents", "60", "--repetitions", "12", "--rounds", "3")


@pytest.mark.thorough
def test_the_study_finds_a_planted_law_and_groups_that_follow_it(tmp_path: Path) -> None:
    row = study(tmp_path, "--llm", "oracle,conformity=1.2,side_bias=0.3", *SMALL).iloc[0]
    assert row["pull_low"] <= 1.2 <= row["pull_high"]
    assert row["bias_low"] <= 0.3 <= row["bias_high"]
    assert (row["planted_pull"], row["planted_bias"]) == (1.2, 0.3)
    assert row["influence_low"] > 0
    page = (tmp_path / "consensus_phases.md").read_text(encoding="utf-8")
    assert ": people follow the others" in page
    assert "It is not shown that groups differ" in page
    assert (tmp_path / "consensus_phases.png").exists()
    assert (tmp_path / "curves.png").exists()
    groups = pd.read_csv(tmp_path / "groups.csv")
    assert list(groups["begins"]) == ["alone", "for", "against"]
    assert groups["reason"].isna().all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "law", ["conformity=0,side_bias=0", "conformity=0,side_bias=0,first_option=9", "conformity=0,side_noise=1"]
)
def test_a_speaker_that_does_not_follow_is_not_said_to(law: str, tmp_path: Path) -> None:
    """One who answers at random, one who always gives the option listed first, and one who only tosses coins."""
    row = study(tmp_path, "--llm", f"oracle,{law}", *SMALL).iloc[0]
    page = (tmp_path / "consensus_phases.md").read_text(encoding="utf-8")
    assert ": people follow the others" not in page
    assert row["phase"] in ("disordered", "unclear")
    assert abs(row["leaning"]) < 0.1
    assert abs(row["pull"]) < 0.3
    if "first_option" in law:
        assert row["order"] == pytest.approx(0.5, abs=0.01)
        assert row["no_difference"]


@pytest.mark.thorough
def test_one_room_gives_values_and_no_verdict(tmp_path: Path) -> None:
    row = study(
        tmp_path, "--llm", "oracle", "--sizes", "2", "--respondents", "2", "--repetitions", "1", "--rounds", "2"
    ).iloc[0]
    page = (tmp_path / "consensus_phases.md").read_text(encoding="utf-8")
    assert pd.isna(row["influence_low"])
    assert row["phase"] == "unclear"
    assert "is unknown, because fewer than 5 people answered" in page
    assert "t is unknown whether groups do what theory predicts from the curves" in page


@pytest.mark.thorough
def test_the_same_command_asks_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "--llm",
        "oracle",
        "--sizes",
        "3",
        "--respondents",
        "3",
        "--repetitions",
        "1",
        "--rounds",
        "2",
        "--begins",
        "alone",
    )
    first = study(tmp_path, *words)
    pages = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    capsys.readouterr()
    assert study(tmp_path, *words).equals(first)
    assert capsys.readouterr().out.count("no model was called") == 2
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == pages


def test_no_two_conditions_share_their_draws() -> None:
    """With one seed, a speaker who does not follow answered alike in all groups, and the test of theory counted it thrice."""
    named = conditions(load_preset("consensus_phases", {"seed": 5}), Plan((3, 8), (0.5, 1.0), 9, ("alone", "for")))
    assert len(named) == 2 * 2 * 3
    assert len({settings["seed"] for settings in named.values()}) == len(named)
    assert named["curve, size 3, temperature 0.5"]["seed"] == 5
    assert named["curve, size 8, temperature 1"]["repetitions"] == 2, "two rooms of eight have nine seats"
    with pytest.raises(UserError, match="--sizes"):
        conditions(load_preset("consensus_phases"), Plan((1,), (1.0,), 9, ("alone",)))
