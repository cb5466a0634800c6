"""Ratings: every probe of every topic is answered with the planted attitude, and nothing is answered that was not asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parley.agents.agent import Debater
from parley.agents.topic import Probe, load_topic, news_names, topic_names
from parley.llm.backends.oracle.asks.scale import stated
from parley.llm.backends.oracle.banks import recognised
from parley.llm.backends.oracle.reading import read
from parley.llm.backends.oracle.speaker import Oracle
from parley.llm.request import Reply

PROBES = [(slug, name) for slug in [*topic_names(), *news_names()] for name in load_topic(slug).probes]
ENDS = "where 0 means not a problem at all and 10 means a very big problem. Answer with the number only."


@pytest.fixture
def rated(oracle: Oracle, debater: Callable[..., Debater]) -> Callable[..., tuple[Debater, Probe, Any]]:
    """rated(slug, name, persona): a debater, its probe, and its rating at temperature 0."""

    def make(slug: str, name: str, persona: str) -> tuple[Debater, Probe, Any]:
        agent, probe = debater(persona, slug=slug), load_topic(slug).probe(name)
        agent.hear("Bob", "A line that nobody can read.")
        return agent, probe, agent.absorb_survey(oracle.complete([agent.compose_survey(probe, 3)])[0], probe)

    return make


@pytest.mark.parametrize("persona", ["You are an American.", "You are a Republican.", "You are a Democrat."])
@pytest.mark.parametrize(("slug", "name"), PROBES)
def test_every_shipped_probe_is_answered_with_the_planted_attitude(
    oracle: Oracle, rated: Callable[..., tuple[Debater, Probe, Any]], slug: str, name: str, persona: str
) -> None:
    """On any scale and either way round: the expected value is exact, and the answer is the nearest point on that scale."""
    agent, probe, rating = rated(slug, name, persona)
    truth = oracle.attitude(read(agent.compose_survey(probe, 3)))[0]
    assert rating.reason is None
    assert rating.expected == pytest.approx(truth, abs=1e-9)
    assert rating.attitude is not None
    assert abs(rating.attitude - truth) <= 10 / (probe.scale.high - probe.scale.low) / 2 + 1e-9


@pytest.mark.parametrize(("slug", "name"), PROBES)
def test_answer_distribution_is_one_and_next_door(
    rated: Callable[..., tuple[Debater, Probe, Any]], slug: str, name: str
) -> None:
    """Probabilities sum to 1, on at most two neighbouring answers."""
    _, _, rating = rated(slug, name, "You are a Republican.")
    held = [place for place, share in enumerate(rating.probabilities) if share > 0]
    assert sum(rating.probabilities) == pytest.approx(1)
    assert held[-1] - held[0] <= 1


def test_warm_answers_have_the_attitude_as_their_mean(asked: Callable[..., Reply], oracle: Oracle) -> None:
    """At temperature 1 the drawn numbers average to the planted 7.3 (500 seeds; standard error 0.02)."""
    question = f"How big a problem is gun violence? Answer with one number from 0 to 10, {ENDS}"
    drawn = [int(asked(question, seed=seed).text or "") for seed in range(500)]
    assert sum(drawn) / len(drawn) == pytest.approx(oracle.parameters["gun_violence"].bias, abs=0.08)
    assert set(drawn) == {7, 8}


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        ("How severe is racism, on a scale from 1 (not severe) to 5 (extremely severe problem)?", (1, 5, 1)),
        ("How big is racism from 0 to 100, where 0 means a very big problem and 100 means no problem?", (0, 100, -1)),
        (
            "Do you agree that racism is a thing of the past, from 1 (strongly disagree) to 7 (strongly agree)?",
            (1, 7, -1),
        ),
        ("Do you agree with stronger civil rights laws, from 1 = strongly agree to 7 = strongly disagree?", (1, 7, -1)),
    ],
)
def test_other_wordings_of_a_scale(ask: str, expected: tuple[int, int, int]) -> None:
    """Ends, and the direction that follows from labels and proposition together."""
    found = stated(ask, "racism")
    assert found is not None
    assert (found.low, found.high, found.direction) == expected


def test_a_fully_labelled_scale_is_answered_as_asked(asked: Callable[..., Reply]) -> None:
    """`Answer with one number` wants a number even when every point has a name; otherwise the name is the answer."""
    ends = "where 1 means not a problem at all, 2 means a middling one and 3 means a very big problem"
    assert asked(f"How bad is racism? Answer with one number from 1 to 3, {ends}.", temperature=0).text == "3"
    assert asked(f"How bad is racism from 1 to 3, {ends}?", temperature=0).text == "a very big problem"


UNKNOWN = (
    "What is the capital of France?",
    "Write a haiku about spring.",
    "Write a poem about gun violence.",
    "",
    "Tell me more.",
    f"How big a problem is unemployment? Answer with one number from 0 to 10, {ENDS}",
    "How much do you agree that the moon is cheese? Answer with one number from 0 to 10, "
    "where 0 means strongly disagree and 10 means strongly agree.",
    "How much do you agree that racism is a myth? Answer with one number from 1 to 7, "
    "where 1 means strongly disagree and 7 means strongly agree.",
    "How big a problem is racism? Answer with one number from 1 to 7.",
    "How big a problem is racism? Answer with one number from 7 to 1, where 7 means no problem and 1 a very big problem.",
    "How big a problem is gun violence? Answer on the usual scale.",
)


@pytest.mark.parametrize("question", UNKNOWN)
def test_what_it_does_not_know_is_a_named_failure(asked: Callable[..., Reply], question: str) -> None:
    """Unknown proposition, unreadable scale, unknown errand: never a text, which would pass for data."""
    reply = asked(question)
    assert reply.text is None
    assert reply.failure is not None
    assert (reply.failure.name, reply.failure.transient) == ("unknown_ask", False)
    assert question.startswith(reply.failure.detail)


def test_a_rating_of_something_else_in_a_debate_is_a_failure(asked: Callable[..., Reply]) -> None:
    """In a debate about racism a question about unemployment must not get the attitude toward racism; `this issue` does."""
    opening = "This is a debate about racism.\n\nBob: Hello.\n\n"
    other = asked(f"{opening}How big a problem is unemployment? Answer with one number from 0 to 10, {ENDS}")
    same = asked(f"{opening}How big a problem is this issue? Answer with one number from 0 to 10, {ENDS}")
    assert other.failure is not None
    assert other.failure.name == "unknown_ask"
    assert same.text == "8"


def test_seed_and_wording_of_a_probe_name_its_own_topic() -> None:
    """The question of a probe must lead to its topic, else it would be answered on the debate's."""
    for slug, name in PROBES:
        assert recognised(load_topic(slug).probe(name).ask("debate")) == slug
