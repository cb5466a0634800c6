"""Ratings: every probe of every topic is answered with the planted attitude, and nothing is answered that was not asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from data_checks import check_each

from parley.agents.agent import Debater
from parley.agents.probe import Probe
from parley.agents.scales import LABELLED, NUMERIC, Scale
from parley.agents.topic import load_topic, news_names, topic_names
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.backends.oracle.surveys import directed
from parley.llm.purposes import Facts
from parley.llm.request import Reply

PROBES = [(slug, name) for slug in [*topic_names(), *news_names()] for name in load_topic(slug).probes]
PROBLEM = Scale("problem", NUMERIC, 0, 10, {0: "not a problem at all", 10: "a very big problem"})
AGREE = Scale("agree", NUMERIC, 1, 7, {1: "strongly disagree", 7: "strongly agree"})


@pytest.fixture
def rated(oracle: Oracle, debater: Callable[..., Debater]) -> Callable[..., tuple[Debater, Probe, Any]]:
    """rated(slug, name, persona): a debater, its probe, and its rating at temperature 0."""

    def make(slug: str, name: str, persona: str) -> tuple[Debater, Probe, Any]:
        agent, probe = debater(persona, slug=slug), load_topic(slug).probe(name)
        agent.hear("Bob", "A line that nobody can read.")
        return agent, probe, agent.absorb_survey(oracle.complete([agent.compose_survey(probe, 3)])[0], probe)

    return make


@check_each("persona", ["You are an American.", "You are a Republican.", "You are a Democrat."])
@check_each(("slug", "name"), PROBES)
def test_every_shipped_probe_is_answered_with_the_planted_attitude(
    oracle: Oracle, rated: Callable[..., tuple[Debater, Probe, Any]], slug: str, name: str, persona: str
) -> None:
    """On any scale and either way round: the expected value is exact, and the answer is the nearest point on that scale."""
    agent, probe, rating = rated(slug, name, persona)
    truth = oracle.attitude(read(agent.compose_survey(probe, 3), banks()))[0]
    assert rating.reason is None
    assert rating.expected == pytest.approx(truth, abs=1e-9)
    assert rating.attitude is not None
    assert abs(rating.attitude - truth) <= 10 / (probe.scale.high - probe.scale.low) / 2 + 1e-9


@check_each(("slug", "name"), PROBES)
def test_answer_distribution_is_one_and_next_door(
    rated: Callable[..., tuple[Debater, Probe, Any]], slug: str, name: str
) -> None:
    """Probabilities sum to 1, on at most two neighbouring answers."""
    _, _, rating = rated(slug, name, "You are a Republican.")
    held = [place for place, share in enumerate(rating.probabilities) if share > 0]
    assert sum(rating.probabilities) == pytest.approx(1)
    assert held[-1] - held[0] <= 1


def scaled(low: int, high: int, at_low: str, at_high: str) -> Scale:
    return Scale("stated", NUMERIC, low, high, {low: at_low, high: at_high})


def rate(asked: Callable[..., Reply], question: str, scale: Scale, **options: Any) -> Reply:
    """A survey question in words of its own, on a scale."""
    facts: Facts = {"question": question, "scale": scale, **options.pop("facts", {})}
    return asked(options.pop("text", question), purpose="survey", facts=facts, **options)


def test_warm_answers_have_the_attitude_as_their_mean(asked: Callable[..., Reply], oracle: Oracle) -> None:
    """At temperature 1 the drawn numbers average to the planted 7.3 (500 seeds; standard error 0.02)."""
    drawn = [
        int(rate(asked, "How big a problem is gun violence?", PROBLEM, seed=seed).text or "") for seed in range(500)
    ]
    assert sum(drawn) / len(drawn) == pytest.approx(oracle.parameters["gun_violence"].bias, abs=0.08)
    assert set(drawn) == {7, 8}


@check_each(
    ("question", "scale", "direction"),
    [
        ("How severe is racism?", scaled(1, 5, "not severe", "extremely severe problem"), 1),
        ("How big is racism?", scaled(0, 100, "a very big problem", "no problem"), -1),
        ("Do you agree that racism is a thing of the past?", AGREE, -1),
        ("Do you agree with stronger civil rights laws?", scaled(1, 7, "strongly agree", "strongly disagree"), -1),
    ],
)
def test_a_scale_may_run_either_way_round(question: str, scale: Scale, direction: int) -> None:
    """The direction follows from labels and proposition together."""
    found = directed(banks(), scale, question, "racism")
    assert found is not None
    assert found.direction == direction


def test_a_fully_labelled_scale_is_answered_as_asked(asked: Callable[..., Reply]) -> None:
    """A numeric scale wants a number even when every point has a name; on a labelled one the name is the answer."""
    labels = {1: "not a problem at all", 2: "a middling one", 3: "a very big problem"}
    for kind, answer in ((NUMERIC, "3"), (LABELLED, "a very big problem")):
        assert rate(asked, "How bad is racism?", Scale("bad", kind, 1, 3, labels), temperature=0).text == answer


UNKNOWN = (
    "Write a haiku about spring.",
    "Write a poem about gun violence.",
    "",
    "Tell me more.",
    "How big a problem is gun violence? Answer on the usual scale.",
    "How big a problem is racism? Answer with one number from 0 to 10.",
)


@check_each("question", UNKNOWN)
def test_what_it_does_not_know_is_a_named_failure(asked: Callable[..., Reply], question: str) -> None:
    """A user's question in an interview about something else, an errand, a rating: never a text, which would pass for data."""
    reply = asked(question)
    assert reply.text is None
    assert reply.failure is not None
    assert (reply.failure.name, reply.failure.transient) == ("unknown_ask", False)
    assert question.startswith(reply.failure.detail)


@pytest.mark.parametrize(
    ("question", "scale"),
    [
        ("How big a problem is unemployment?", PROBLEM),
        ("How much do you agree that the moon is cheese?", AGREE),
        ("How much do you agree that racism is a myth?", AGREE),
        ("How big a problem is racism?", scaled(1, 7, "one end", "the other end")),
    ],
)
def test_a_rating_that_it_cannot_give_is_a_named_failure(
    asked: Callable[..., Reply], question: str, scale: Scale
) -> None:
    """An unknown proposition, or labels that do not tell which end is which: never a number."""
    reply = rate(asked, question, scale)
    assert reply.failure is not None
    assert reply.failure.name == "unknown_ask"


def test_a_rating_of_something_else_in_a_debate_is_a_failure(asked: Callable[..., Reply]) -> None:
    """In a debate about racism a question about unemployment must not get the attitude toward racism; `this issue` does."""
    debate: dict[str, Any] = {"text": "A debate.\n\nBob: Hello.\n\nWell?", "facts": {"topic": "racism"}}
    other = rate(asked, "How big a problem is unemployment?", PROBLEM, **debate)
    same = rate(asked, "How big a problem is this issue?", PROBLEM, **debate)
    assert other.failure is not None
    assert other.failure.name == "unknown_ask"
    assert same.text == "8"


def test_seed_and_wording_of_a_probe_name_its_own_topic() -> None:
    """The question of a probe must lead to its topic, else it would be answered on the debate's."""
    for slug, name in PROBES:
        assert banks().recognised(load_topic(slug).probe(name).ask("debate")) == slug
