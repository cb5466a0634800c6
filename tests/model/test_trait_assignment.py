"""Roles, temperaments and confirmation bias in a run: who has which, what is recorded, and what it does to the known truth."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from data_checks import check_each
from standins import opinionated

from parley.agents.traits import PLAIN
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle import open_backend
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Called, Endowed, Event, Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder, from_line, to_line
from parley.model.scenario import Scenario

Small = Callable[..., Scenario]
FITTING = {"consensus": {"topic": "", "episodes": 1}, "network": {"size": 8, "graph": "ring"}}


def held(scenario: Scenario, backend: object | None = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend or open_backend(""), recorder=recorder).run()
    return recorder.events


def of(events: list[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


def test_seat_before_party_before_everybody(small: Small) -> None:
    """The nearest word counts; who is not named is given what everybody is."""
    scenario = small("echo_chamber", roles="verifier,republican:spreader,republican 2:skeptic", default_agent="with")
    model = DebateModel(scenario, backend=open_backend(""))
    roles = {agent.seat: agent.character.role for agent in model.agents}
    assert roles["republican 1"] == "spreader"
    assert roles["republican 2"] == "skeptic"
    assert {roles[seat] for seat in ("democrat 1", "democrat 2", "default")} == {"verifier"}


@check_each("preset", ["three_way", "structured_debate", "consensus", "network"])
def test_they_compose_with_every_environment(small: Small, preset: str) -> None:
    """Every member is told, the known-truth speaker answers as before, nothing is refused or missing."""
    topics = FITTING.get(preset, {})
    given = {"roles": "republican:convincer+status,bystander", "traits": "drawn", "confirmation_bias": "weak"}
    events = held(small(preset, repetitions=1, survey="ends", **given, **topics))
    members = [event for event in of(events, Seated) if event.agent]
    assert [event.agent for event in of(events, Endowed)] == [event.agent for event in members]
    assert {event.failure for event in of(events, Called)} == {None}
    assert all(event.rating is not None for event in of(events, Rated))


def test_what_is_given_is_recorded_and_read_back(small: Small) -> None:
    events = held(small(roles="republican:skeptic", traits="democrat:openness=low"))
    found = {event.agent: event for event in of(events, Endowed)}
    party = {event.agent: event.party for event in of(events, Seated)}
    assert {party[agent] for agent in found} == {"republican", "democrat"}
    for agent, event in found.items():
        expected = ("skeptic", {}) if party[agent] == "republican" else ("", {"openness": "low"})
        assert (event.role, event.traits, event.confirmation_bias) == (*expected, "none")
        assert from_line(to_line(event)) == event


def test_nothing_given_is_nothing_recorded(small: Small) -> None:
    model = DebateModel(small(), backend=open_backend(""))
    assert all(agent.character is PLAIN for agent in model.agents)


def test_a_drawn_temperament_is_the_persons_own(small: Small) -> None:
    """The same persona has the same one on every topic and in every run with the seed; others have others."""
    events = held(small(traits="drawn", topic="racism,abortion", repetitions=4, rounds=0))
    persona = {event.agent: event.persona for event in of(events, Seated)}
    by_persona: dict[str, set[tuple]] = {}
    for event in of(events, Endowed):
        by_persona.setdefault(persona[event.agent], set()).add(tuple(event.traits.items()))
    assert {len(found) for found in by_persona.values()} == {1}
    assert len(set.union(*by_persona.values())) > len(by_persona) / 2
    assert held(small(traits="drawn", topic="racism", repetitions=4, rounds=0, seed=1)) != held(
        small(traits="drawn", topic="racism", repetitions=4, rounds=0)
    )


def test_a_role_is_told_to_its_bearer_alone(small: Small) -> None:
    """What others are asked to do is not theirs to know."""
    asked: list[Request] = []

    def spy(request: Request) -> str:
        asked.append(request)
        return opinionated(request)

    events = held(small(roles="republican:convincer", repetitions=1), Fake(spy))
    told = {request.messages[0].content for request in asked if "convince the others" in request.messages[1].content}
    assert len(told) == 1
    assert len({request.messages[0].content for request in asked}) == 3
    assert of(events, Utterance)


def attitudes(events: list[Event], round_: int) -> list[float]:
    return [event.expected for event in of(events, Rated) if event.round == round_]


def test_the_known_truth_hears_less_the_stronger_its_bias(small: Small) -> None:
    """oracle: a line farther away than 5 (weak), 2 (strong) has no influence. All start where they would; movement shrinks."""
    quiet = open_backend("", mu=0.0, sigma=0.0)
    runs = [held(small(confirmation_bias=bias, rounds=3, repetitions=4), quiet) for bias in ("none", "weak", "strong")]
    assert attitudes(runs[0], 0) == attitudes(runs[1], 0) == attitudes(runs[2], 0)
    moved = [
        sum(abs(after - before) for before, after in zip(attitudes(run, 0), attitudes(run, 3), strict=True))
        for run in runs
    ]
    assert moved[0] > moved[1] > moved[2]


def test_the_known_truth_takes_no_notice_of_temperament(small: Small) -> None:
    before, after = (attitudes(held(small(traits=traits, rounds=0)), 0) for traits in ("", "drawn"))
    assert before == after


@check_each(
    ("given", "told"),
    [
        ({"roles": "republicans:skeptic"}, "unknown party of roles 'republicans': did you mean republican"),
        ({"roles": "republican:"}, "write PARTY:VALUE"),
        ({"roles": "republican:skeptic,republican:convincer"}, "each party once"),
        ({"traits": "drawn,drawn"}, "each party once"),
        ({"confirmation_bias": "republican:some"}, "unknown confirmation bias 'some'"),
    ],
)
def test_what_makes_no_sense_is_refused(small: Small, given: dict[str, str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        small(**given)


def test_a_drawn_role_is_one_of_those_named(small: Small) -> None:
    """As often as it is named, about; the seat's own in a repetition, on every topic; an unknown one among them is told."""
    settings = {
        "topic": "racism,abortion",
        "repetitions": 2,
        "rounds": 0,
        "size": 40,
        "roles": "spreader/verifier/verifier",
    }
    events = held(small("network", **settings))
    seats = {event.agent: event for event in of(events, Seated) if event.group != "reference"}
    roles = {agent: event.role for event in of(events, Endowed) if (agent := event.agent) in seats}
    by_topic: dict[str, dict[tuple[int, str], str]] = {}
    for agent, seated in seats.items():
        by_topic.setdefault(seated.topic, {})[seated.repetition, seated.seat] = roles[agent]
    assert by_topic["racism"] == by_topic["abortion"]
    drawn = list(by_topic["racism"].values())
    assert set(drawn) == {"spreader", "verifier"}
    assert 0.5 < drawn.count("verifier") / len(drawn) < 0.85
    with pytest.raises(UserError, match="unknown role 'verifyer'"):
        small(roles="spreader/verifyer")
