"""Further probes beside the main one: they are asked, recorded apart, and change nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from data_checks import check_each
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle import open_backend
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Called, Event, Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario

Small = Callable[..., Scenario]
ALSO = "confidence,attitude:public"


def held(scenario: Scenario, backend: object | None = None) -> tuple[DebateModel, list[Event]]:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, backend=backend or open_backend(""), recorder=recorder)
    model.run()
    return model, recorder.events


def main(event: Event) -> bool:
    """A turn, or a rating of the main probe."""
    return isinstance(event, Utterance) or (isinstance(event, Rated) and event.probe == "attitude")


def test_the_main_probe_and_all_that_is_said_stay_as_they_are(small: Small) -> None:
    """Further questions are private: every turn and every main rating is the same, event for event, with and without them."""
    with_, without = ([event for event in held(small(also=also))[1] if main(event)] for also in (ALSO, ""))
    assert with_ == without


def test_each_is_asked_of_everybody_whenever_a_survey_is_due(small: Small) -> None:
    rated = [event for event in held(small(also=ALSO))[1] if isinstance(event, Rated)]
    for name in ("attitude", *ALSO.split(",")):
        assert [event.round for event in rated if event.probe == name] == [0] * 6 + [1] * 6 + [2] * 6


def test_confidence_is_no_attitude(small: Small) -> None:
    """A 0-100 bet on the topic's axis would be an attitude that nobody stated: it has a rating and no attitude."""
    model, events = held(small(also="confidence"))
    bets = [event for event in events if isinstance(event, Rated) and event.probe == "confidence"]
    assert all(event.rating is not None and event.attitude is None and event.expected is None for event in bets)
    assert {agent.attitude is None for agent in model.agents} == {False}


def test_the_known_truth_bets_by_its_attitude(small: Small) -> None:
    """oracle: confidence = 10 max(a, 10 - a), to the nearest whole number, for every agent and round."""
    rated = [event for event in held(small(also="confidence"))[1] if isinstance(event, Rated)]
    attitude = {(event.agent, event.round): event.expected for event in rated if event.probe == "attitude"}
    bets = {(event.agent, event.round): event.rating for event in rated if event.probe == "confidence"}
    for key, bet in bets.items():
        assert abs((bet or 0) - 10 * max(attitude[key], 10 - attitude[key])) <= 0.5 + 1e-9


def test_the_public_question_says_that_all_will_hear(small: Small) -> None:
    """Same question, same scale; and nobody is in fact told the answer."""
    asked: dict[str, Request] = {}

    def spy(request: Request) -> str:
        asked.setdefault(request.messages[-1].content.split("\n\n")[-1].split(":")[0], request)
        return opinionated(request)

    held(small(also="attitude:public"), Fake(spy))
    private, public = (
        asked["Privately, and apart from the debate"],
        asked["Before everybody who takes part in the debate"],
    )
    assert private.answers == public.answers
    assert private.messages[-1].content.split(": ", 1)[1] == public.messages[-1].content.split(": ", 1)[1]


def test_a_preset_that_makes_no_sense_is_refused(small: Small) -> None:
    with pytest.raises(UserError, match="unknown probe of topic racism 'confidense': did you mean confidence"):
        small(also="confidense")
    with pytest.raises(UserError, match="each question only once"):
        small(also="attitude")
    for probe in ("confidence", "attitude:public", "attitude:turns"):
        with pytest.raises(UserError, match=f"probe {probe} cannot be the main probe"):
            small(probe=probe)


def test_deliberations_have_them_too(small: Small) -> None:
    scenario = small("consensus", topic="", also="confidence,position:public", episodes=1, repetitions=1)
    events = held(scenario)[1]
    rated = [event.probe for event in events if isinstance(event, Rated)]
    assert [rated.count(name) for name in ("position", "confidence", "position:public")] == [20, 20, 20]


def test_calls_are_noted(small: Small) -> None:
    events = held(small(also="confidence"))[1]
    calls = [event.purpose for event in events if isinstance(event, Called)]
    assert calls.count("survey") == sum(isinstance(event, Rated) for event in events)


def test_a_trace_asks_everybody_after_every_turn(small: Small) -> None:
    """Hidden beliefs turn by turn: every member after each of six turns, and what is said stays as it is."""
    events = held(small(also="attitude:turns", repetitions=1))[1]
    traced = [event for event in events if isinstance(event, Rated) and event.probe == "attitude:turns"]
    assert [(event.round, event.iteration) for event in traced] == [
        (1 + at // 4, at) for at in range(1, 7) for _ in range(3)
    ]
    plain = held(small(repetitions=1))[1]
    assert [event for event in events if main(event)] == [event for event in plain if main(event)]
    last = {event.agent: event.rating for event in traced if event.iteration == 6}
    assert last == {event.agent: event.rating for event in plain if isinstance(event, Rated) and event.round == 2}


@check_each("preset", ["three_way", "consensus", "echo_chamber"])
def test_the_plan_counts_them_all(small: Small, preset: str) -> None:
    topics, probe = ({"topic": ""}, "position") if preset == "consensus" else ({}, "attitude")
    scenario = small(preset, also=f"confidence,{probe}:turns,confidence:turns", **topics)
    events = held(scenario, Fake(opinionated))[1]
    assert plan_run(scenario).ratings == sum(isinstance(event, Rated) for event in events)
    assert plan_run(scenario).calls == sum(isinstance(event, Called) for event in events)
