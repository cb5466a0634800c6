"""Debates before a judge: who argues for what, what a judge does, what is written blind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.trait_assignment import alternate_sides, side_of

Small = Callable[..., Scenario]


def held(scenario: Scenario, ratings: dict[str, str]) -> tuple[DebateModel, list, list[Request]]:
    """Everybody of a party rates alike; the requests in order."""
    asked: list[Request] = []

    def speak(request: Request) -> str:
        asked.append(request)
        party = next((party for party in ratings if party in request.messages[0].content.lower()), "american")
        return ratings[party] if request.answers else f"Mark{len(asked)}end"

    recorder = MemoryRecorder()
    model = DebateModel(scenario, backend=Fake(speak), recorder=recorder)
    model.run()
    return model, recorder.events, asked


@given(st.lists(st.one_of(st.none(), st.floats(0, 10)), min_size=1, max_size=5))
def test_sides_are_opposite_and_the_first_is_its_own(attitudes: list[float | None]) -> None:
    """Nobody is given a side that follows from nothing; neighbours never argue for the same."""
    sides = alternate_sides(side_of(attitudes[0]), len(attitudes))
    assert sides[0] == side_of(attitudes[0])
    assert all(one is None if sides[0] is None else one == -other for one, other in zip(sides[1:], sides, strict=False))


@pytest.mark.parametrize("protocol", ["sequential", "simultaneous"])
def test_who_argues_for_what_and_the_judge_says_nothing(small: Small, protocol: str) -> None:
    """Two Republicans at 3: the first is told to argue against the claim (its belief), the second for it, each in every turn."""
    ratings = {"republican": "3", "democrat": "9", "american": "6"}
    setup = small("prior_beliefs", parties="republican", protocol=protocol, repetitions=1)
    model, events, asked = held(setup, ratings)
    judges = {agent.unique_id for agent in model.agents if agent.party == "default"}
    assert len(judges) == 1
    assert not [event for event in events if isinstance(event, Utterance) and event.agent in judges]
    assert judges <= {event.agent for event in events if isinstance(event, Rated)}
    for agent in model.agents:
        own = [one for one in asked if one.messages[0].content == agent.persona.backstory and one.purpose == "speech"]
        told = {"republican 1": "Argue against the claim that", "republican 2": "Argue for the claim that"}.get(
            agent.seat
        )
        assert len(own) == (2 if told else 0)
        assert all(told in one.messages[-1].content for one in own)


def test_at_once_means_that_nobody_reads_the_other_first(small: Small) -> None:
    """In round 1 neither prompt holds a word of the other; sequentially the second one's does. The judge reads both."""
    ratings = {"republican": "3", "american": "6"}
    for protocol, read in (("simultaneous", [0, 0]), ("sequential", [0, 1])):
        setup = small("prior_beliefs", parties="republican", protocol=protocol, rounds=1, repetitions=1)
        _, _, asked = held(setup, ratings)
        speeches = [request for request in asked if request.purpose == "speech"]
        assert [request.messages[-1].content.count("Mark") for request in speeches] == read
        judge = next(one for one in reversed(asked) if one.messages[0].content == "You are an American.")
        assert judge.messages[-1].content.count("Mark") == 2


def test_without_a_prior_there_is_no_side_and_no_word(small: Small) -> None:
    """The middle of the scale is no side: both debaters stay silent with a reason, and nothing is made up."""
    _, events, asked = held(small("prior_beliefs", parties="republican"), {"republican": "5", "american": "6"})
    said = [event for event in events if isinstance(event, Utterance)]
    assert {(event.text, event.reason) for event in said} == {(None, "no_side")}
    assert not [request for request in asked if request.purpose == "speech"]


def test_assigned_sides_do_not_depend_on_belief(small: Small) -> None:
    """Whatever both think, the first argues for the claim and the second against it; a survey before is not needed."""
    for survey in ("ends", "never"):
        setup = small("prior_beliefs", parties="republican", repetitions=1, sides="assigned", survey=survey)
        _, events, asked = held(setup, {"republican": "5", "american": "6"})
        speeches = [request for request in asked if request.purpose == "speech"]
        assert {request.facts["side"] for request in speeches} == {"for", "against"}
        assert len(speeches) == len([event for event in events if isinstance(event, Utterance) and event.text])
    with pytest.raises(UserError, match="sides=assigned needs an open debate"):
        load_preset("consensus").with_settings({"sides": "assigned"})


def test_sides_need_a_survey() -> None:
    with pytest.raises(UserError, match="needs a survey before the debate"):
        load_preset("prior_beliefs").with_settings({"survey": "never"})


def test_nobody_is_told_a_side_unless_asked_for(small: Small) -> None:
    asked: list[Request] = []
    backend = Fake(lambda request: (asked.append(request), opinionated(request))[1])
    DebateModel(small("prior_beliefs", sides="own"), backend=backend).run()
    assert not [one for one in asked if "Argue" in one.messages[-1].content]
