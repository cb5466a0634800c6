"""Feelings of the oracle: the planted law by hand, what it says and reads, and that nothing changes where none is planted."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.probe import scales
from parley.agents.topic import load_topic
from parley.llm.backends import open_spec
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.emotions import feeling, felt
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.speech_laws import FEELINGS, EmotionLaw
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PERSONA = "You are Ann, 40, a nurse."
TOPIC = "This is a debate about racism. You are Ann; the other is Bob."


def test_the_law_by_hand() -> None:
    """Without noise and with a contagion of .5: a line of 7 leads from b to (b + 7) / 2, and a line of 1 to half of it + .5."""
    law, english = EmotionLaw(contagion=0.5), banks()
    start = feeling(english, "valence", PERSONA, [], law)
    lines = [("Bob", "It is late. I feel very good."), ("Bob", "I feel very bad.")]
    assert feeling(english, "valence", PERSONA, lines[:1], law) == pytest.approx((start + 7) / 2, abs=1e-5)
    assert feeling(english, "valence", PERSONA, lines, law) == pytest.approx((start + 7) / 4 + 0.5, abs=1e-5)
    assert feeling(english, "arousal", PERSONA, lines, law) == feeling(english, "arousal", PERSONA, [], law)


def test_without_contagion_and_volatility_a_feeling_is_the_baseline() -> None:
    lines = [("Bob", "I feel very good.")] * 3
    assert feeling(banks(), "valence", PERSONA, lines, EmotionLaw()) == feeling(
        banks(), "valence", PERSONA, [], EmotionLaw()
    )


def test_noise_comes_with_every_line_and_is_the_same_each_time() -> None:
    law, lines = EmotionLaw(volatility=0.5), [("Bob", "It is late."), ("Bob", "It is early.")]
    values = [feeling(banks(), "valence", PERSONA, lines[:count], law) for count in (0, 1, 2)]
    assert len(set(values)) == 3
    assert values[2] == feeling(banks(), "valence", PERSONA, lines, law)


@check_each("society", ["us", "germany"])
def test_what_it_says_it_reads_back(society: str) -> None:
    """Each of the seven sentences of a feeling has its level in every language, and none of the other feeling or the topic."""
    known = banks(society)
    for name in FEELINGS:
        sentences = known.data("language")["feelings"][name]
        assert [felt(known, name, sentence) for sentence in sentences] == [1, 2, 3, 4, 5, 6, 7]
        other = next(one for one in FEELINGS if one != name)
        assert {felt(known, other, sentence) for sentence in sentences} == {None}
        assert {bank.grade(sentence) for bank in known.topics.values() for sentence in sentences} == {None}


def spoken(words: int = 60, **state: float) -> Reply:
    """A reply of the oracle that is reminded of what it feels."""
    facts = Facts(topic="racism", frame="debate", words=words, state=state)
    messages = (Message("system", PERSONA), Message("user", f"{TOPIC}\n\nBegin the debate."))
    return open_backend("").complete([Request(messages, Sampling(1.0, 120), 3, purpose="speech", facts=facts)])[0]


def test_it_says_what_its_prompt_reminds_it_of_within_the_length() -> None:
    """A share of a scale of any length is said on seven levels; without a reminder it says no feeling."""
    assert (spoken(valence=0.0, arousal=1.0).text or "").endswith("I feel very bad. I am very worked up.")
    assert (spoken(valence=0.5).text or "").endswith("I feel neither good nor bad.")
    plain = spoken().text or ""
    assert felt(banks(), "valence", plain) is None
    for words in (30, 40, 60):
        assert len((spoken(words, valence=0.5, arousal=0.5).text or "").split()) <= words


def test_a_rating_tells_the_exact_feeling() -> None:
    """The mean of the distribution of answers is the feeling itself, so an analysis can be checked without rounding."""
    probe = load_topic("racism").probe("valence")
    messages = (Message("system", PERSONA), Message("user", f"{TOPIC}\n\n{probe.ask('debate')}"))
    request = Request(messages, Sampling(0, 40), 0, purpose="survey", facts=probe.facts, answers=probe.scale.answers)
    (reply,) = open_backend("").complete([request])
    assert reply.answers is not None
    expected = feeling(banks(), "valence", PERSONA, [], EmotionLaw())
    assert scales()["valence_1_7"].expected(reply.answers) == pytest.approx(expected, abs=1e-5)
    assert abs(int(reply.text or "") - expected) <= 0.5


def test_the_law_is_part_of_the_identity_where_it_is_not_the_default() -> None:
    """Otherwise a journal would answer contagion=.2 from a run without. Runs with the default keep the identity that they had."""
    assert "emotions" not in open_spec("oracle").identity
    assert open_spec("oracle,contagion=.2").identity["emotions"] == {"contagion": 0.2, "volatility": 0.0}


@check_each("spec", ["oracle,contagion=1.5", "oracle,contagion=-.1", "oracle,volatility=-1"])
def test_a_law_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match="contagion must be from 0 to 1"):
        open_spec(spec)
