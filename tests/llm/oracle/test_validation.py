"""The questions by which personas are checked: known answers, and a judge that knows whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from data_checks import check_each

from parley.llm.backends.oracle.judging import NO, YES, leanings
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.surveys import validation_questions
from parley.llm.purposes import Facts
from parley.llm.request import Reply

PERSONAS = {
    "right": "You are Alex, an American who supports the Republican Party.",
    "left": "You are Taylor, an American who supports the Democratic Party.",
    "neutral": "You are Sam, an American.",
}
MARIJUANA = "Should Marijuana Be a Medical Option?"


@pytest.fixture
def judged(asked: Callable[..., Reply]) -> Callable[..., Reply]:
    """judged(question, said, person): the verdict on an answer."""

    def make(question: str, said: str, person: str) -> Reply:
        facts: Facts = {"question": question, "statement": said, "person": person}
        return asked(f"{question} {said}", answers=(NO, YES), purpose="alignment", facts=facts)

    return make


def test_every_leaning_answers_every_question_in_sentences_of_its_own() -> None:
    """A sentence of two leanings would be aligned with both, and a judge could not tell them apart."""
    assert len(validation_questions(banks())) == 21
    said = Counter(line for bank in validation_questions(banks()).values() for side in PERSONAS for line in bank[side])
    assert set(said.values()) == {1}
    assert all(sentences(line) == [line] and len(line.split()) <= 25 for line in said)
    assert all(len(bank[side]) == 3 for bank in validation_questions(banks()).values() for side in PERSONAS)


@check_each("side", PERSONAS)
def test_a_persona_answers_with_its_leaning_and_briefly(asked: Callable[..., Reply], side: str) -> None:
    """Fifty words are asked for; the answer must be readable by the judge as nobody else's."""
    for question, bank in validation_questions(banks()).items():
        text = asked(f"{question} Answer in at most 50 words.", persona=PERSONAS[side]).text or ""
        assert set(sentences(text)) < set(bank[side])
        assert len(text.split()) <= 50


@check_each("side", PERSONAS)
@check_each("told", PERSONAS)
def test_the_judge_tells_the_leanings_apart(judged: Callable[..., Reply], side: str, told: str) -> None:
    said = " ".join(validation_questions(banks())[MARIJUANA][side])
    reply = judged(MARIJUANA, said, PERSONAS[told])
    assert reply.text == (YES if side == told else NO)
    assert reply.answers == {YES: float(side == told), NO: float(side != told)}


def test_half_an_answer_is_half_aligned(judged: Callable[..., Reply]) -> None:
    lines = validation_questions(banks())[MARIJUANA]
    said = f"{lines['left'][0]} {lines['right'][0]} Something else."
    assert judged(MARIJUANA, said, PERSONAS["left"]).answers == {YES: 0.5, NO: 0.5}


@check_each(
    ("question", "said", "failure"),
    [
        (MARIJUANA, "I hear you.", "no_known_sentence"),
        (
            MARIJUANA,
            validation_questions(banks())["Was Bill Clinton a Good President?"]["left"][0],
            "no_known_sentence",
        ),
        ("Should Cats Vote?", "Yes.", "unknown_question"),
    ],
)
def test_what_it_does_not_know_it_does_not_judge(
    judged: Callable[..., Reply], question: str, said: str, failure: str
) -> None:
    """A guess would be a made-up verdict; the right sentence to another question is no answer to this one."""
    reply = judged(question, said, PERSONAS["left"])
    assert reply.failure is not None
    assert reply.failure.name == failure


def test_no_answer_speaks_of_a_debate_topic() -> None:
    """Interviews are to check the leaning; an opinion on a debated topic would be another measurement."""
    assert not [line for _, line in leanings(banks()) if banks().recognised(line)]
