"""People choose one after another: what each is told, what others see, what a planner changes, and how a run resumes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from standins import Scrambled, opinionated

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Event
from parley.model.files import RECORD
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.herding.events import Decided, StateDrawn

SMALL = {"repetitions": 3, "rounds": 2, "llm": "oracle"}


def herd(**settings: object) -> Scenario:
    return load_preset("herding", SMALL | {"size": 5} | settings)


def record(scenario: Scenario, backend: Any = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return list(recorder.events)


def decided(events: list[Event]) -> list[Decided]:
    return [event for event in events if isinstance(event, Decided)]


def test_a_person_is_told_what_it_may_know_and_nothing_else() -> None:
    """The acts before with the precision of these signals, and its own signal; never the state, another signal or a later act."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "AB"[len(asked) % 2]

    events = record(herd(repetitions=1, rounds=1, size=3), Fake(answer))
    first, second, third = (request.messages[-1].content for request in asked)
    made = decided(events)
    assert "No one has chosen yet." in first
    assert f"Your own check points to {made[0].signal}; such checks are right 7 times in 10." in first
    assert "chose B (a check that is right 7 times in 10)." in second
    assert "chose B (a check that is right 7 times in 10);" in third
    assert "chose A (a check that is right 7 times in 10)." in third
    assert [event.act for event in made] == ["B", "A", "B"]
    assert all(request.answers == ("A", "B") for request in asked)
    assert "the chance that A is right was 50 in 100" in first
    others = second.replace("what it points to", "").replace(f"Your own check points to {made[1].signal};", "")
    assert "points to" not in others


def test_the_same_seed_gives_the_same_record_in_any_order_of_replies() -> None:
    scenario = herd(planner="model")
    assert record(scenario, Fake(opinionated)) == record(scenario, Scrambled(opinionated, 7))
    assert record(scenario) != record(scenario.with_settings({"seed": 1}))


def test_an_unreadable_choice_is_missing_and_no_one_sees_it() -> None:
    """The second person answers in riddles, twice; the third sees one choice, and the belief has one."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "A check is a check." if len(asked) in (2, 3) else "A"

    made = decided(record(herd(repetitions=1, rounds=1, size=3), Fake(answer)))
    assert [(event.act, event.reason, event.asked) for event in made] == [
        ("A", None, 1),
        (None, "unclear_answer", 2),
        ("A", None, 1),
    ]
    assert made[1].earlier == ("A check is a check.",)
    assert asked[3].messages[-1].content.count(" chose ") == 1
    assert made[1].belief == made[2].belief == pytest.approx(0.7)


def test_a_failed_call_is_missing_with_its_name() -> None:
    made = decided(record(herd(repetitions=1, rounds=1, size=2), Fake(lambda request: Reply.failed("timeout"))))
    assert {(event.act, event.reason, event.asked) for event in made} == {(None, "timeout", 1)}


def test_conditions_share_states_and_the_luck_of_signals() -> None:
    """A planner changes precisions alone: a signal that was right is right with a higher precision, too."""
    plain, planned = (record(herd(planner=planner, repetitions=20)) for planner in ("none", "optimum"))
    states = [[event.state for event in events if isinstance(event, StateDrawn)] for events in (plain, planned)]
    assert states[0] == states[1]
    state = {(one.room, one.round): one.state for one in plain if isinstance(one, StateDrawn)}
    pairs = list(zip(decided(plain), decided(planned), strict=True))
    assert any(after.precision > before.precision for before, after in pairs)
    for before, after in pairs:
        right = state[before.room, before.round]
        assert not (before.signal == right and after.precision >= before.precision and after.signal != right)


def test_a_model_planner_of_the_oracle_is_the_optimum() -> None:
    optimum, model = (decided(record(herd(planner=planner, aim="A"))) for planner in ("optimum", "model"))
    assert [event.precision for event in optimum] == [event.precision for event in model]
    assert {event.planner_raw for event in model} <= {"50", "60", "70", "80", "90"}
    assert len({event.precision for event in model}) > 1


def test_a_planner_is_told_its_aim_and_prices_and_not_the_state() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "80 percent" if request.purpose == "precision" else "A"

    made = decided(record(herd(repetitions=1, rounds=1, size=2, planner="model", aim="B", cost=1.0), Fake(answer)))
    text = asked[0].messages[-1].content
    assert "1 point for each person who chooses B" in text
    assert "90 times in 100 costs 0.20 points" in text
    assert "People who have not chosen yet: 2." in text
    assert [(event.precision, event.cost, event.planner_reason) for event in made] == [
        (0.8, pytest.approx(0.1), None),
        (0.8, pytest.approx(0.1), None),
    ]


def test_an_unreadable_planner_changes_nothing_and_says_why() -> None:
    def answer(request: Request) -> str:
        return "as clear as can be" if request.purpose == "precision" else "A"

    made = decided(record(herd(repetitions=1, rounds=1, planner="model"), Fake(answer)))
    assert {(event.precision, event.planner_reason) for event in made} == {(0.7, "no_number")}


def test_a_killed_run_resumes_to_the_same_record(tmp_path: Path) -> None:
    """Answers before the end of the process come from the journal, and are not asked for again."""
    scenario, calls = herd(planner="model"), count(1)
    whole = tmp_path / "whole"
    run_scenario(RunSpec(scenario, whole), backend=Fake(opinionated))

    def dying(request: Request) -> str:
        if next(calls) == 40:
            raise KeyboardInterrupt
        return opinionated(request)

    folder = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        run_scenario(RunSpec(scenario, folder), backend=Fake(dying))
    outcome = run_scenario(RunSpec(scenario, folder), backend=Fake(opinionated))
    assert outcome.replayed > 0
    assert outcome.asked + outcome.replayed == 2 * 5 * 2 * 3
    assert (folder / RECORD).read_bytes() == (whole / RECORD).read_bytes()


def test_other_societies_choose_in_their_language() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "Ich wähle B."

    scenario = herd(society="germany", repetitions=1, rounds=1)
    made = decided(record(scenario, Fake(answer)))
    assert "Deine eigene Prüfung weist auf" in asked[0].messages[-1].content
    assert {event.act for event in made} == {"B"}


def test_people_of_parties_choose_as_well(small: Callable[..., Scenario]) -> None:
    made = decided(record(herd(parties="first,second", size=4)))
    assert len(made) == 4 * 2 * 3


def test_wrong_options_are_one_line() -> None:
    for settings, words in (
        ({"precision": 0.655}, "whole percent"),
        ({"levels": "0.4"}, "precision is .*, but must be between 0.5"),
        ({"prior": 1}, "prior is .*, but must be between 0.01"),
        ({"aim": "C"}, "aim"),
    ):
        with pytest.raises(UserError, match=words):
            herd(**settings)
