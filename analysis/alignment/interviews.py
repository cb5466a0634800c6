"""One question to one persona, and one verdict on its answer."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, persona_reminder
from parley.agents.scales import LABELLED, Scale, read_rating
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive

HERE = Path(__file__).parent
PROMPTS = HERE / "prompts"
QUESTIONS = HERE / "questions.toml"
LEANINGS = ("left", "right", "neutral")
ALIGNED, NOT = "Aligned", "Not aligned"
VERDICT = Scale("alignment", LABELLED, 0, 1, {0: NOT, 1: ALIGNED})
WORDS = 50
ANSWER_TOKENS, VERDICT_TOKENS = 120, 8
WARM, COLD = 1.0, 0.0
"""Temperatures of an interview (the study's public code) and of the judge (the study does not say)."""


class Question(NamedTuple):
    """`about`: the leaning under which the study lists it (left, right, neutral)."""

    text: str
    about: str


class Item(NamedTuple):
    """A persona of a set, and what it is asked; how warm, whether it is told once more who it is, and through which adapter and
    voice it speaks.
    """

    personas: str
    persona: Persona
    question: Question
    warmth: float = WARM
    reminded: bool = False
    adapter: str = ""
    voice: str = ""


class Verdict(NamedTuple):
    """Whether an answer fits; None with the reason why nobody knows."""

    aligned: bool | None
    reason: str = ""


@cache
def questions() -> tuple[Question, ...]:
    """The 21, as they stand in questions.toml."""
    return tuple(Question(text, about) for about in LEANINGS for text in _data()[about])


def person(party: str) -> str:
    """How a party's persona is described to a judge. Errors: UserError on a party without a description."""
    known = _data()["person"]
    if party not in known:
        raise UserError(f"only {', '.join(known)} can be judged, not {party}")
    return str(known[party])


def interview(item: Item, seed: int) -> Conversation[Reply]:
    """The persona's answer."""
    one, text = item.persona, prompt(PROMPTS, "question").fill(question=item.question.text, words=WORDS)
    own = derive(seed, "interview", item.personas, one.party, one.variant, one.name, item.question.text)
    told = f"{persona_reminder(one.backstory)}\n\n{text}" if item.reminded else text
    messages = (Message("system", one.backstory), Message("user", told))
    sampling, speaks = Sampling(item.warmth, ANSWER_TOKENS), (item.adapter, item.voice)
    facts: Facts = {"question": item.question.text, "words": WORDS}
    return (yield from ask(Request(messages, sampling, own, (), "interview", "", *speaks, facts=facts)))


def judge(item: Item, answer: Reply, seed: int) -> Conversation[Verdict]:
    """The verdict on an answer; an answer that failed is judged by nobody."""
    if answer.text is None or not answer.text.strip():
        return Verdict(None, f"no answer ({answer.failure.name if answer.failure else 'empty'})")
    return verdict((yield from ask(compose(item, answer.text, seed))))


def compose(item: Item, answer: str, seed: int) -> Request:
    """The rules as system message, then question, answer (on one line) and person."""
    slots = {"question": item.question.text, "answer": " ".join(answer.split()), "person": person(item.persona.party)}
    messages = (
        Message("system", prompt(PROMPTS, "judge").fill()),
        Message("user", prompt(PROMPTS, "case").fill(**slots)),
    )
    facts: Facts = {"question": slots["question"], "statement": slots["answer"], "person": slots["person"]}
    sampling, own = Sampling(COLD, VERDICT_TOKENS), derive(seed, "alignment")
    return Request(messages, sampling, own, VERDICT.answers, "alignment", facts=facts)


def verdict(reply: Reply) -> Verdict:
    """The likelier answer of a distribution, else what the reply says in one of the two words; never a guess."""
    if reply.failure:
        return Verdict(None, f"judge failed ({reply.failure.name})")
    if reply.answers:
        share = VERDICT.expected(reply.answers)
        return Verdict(None, "verdict not read (tie)") if share == 0.5 else Verdict(share > 0.5)
    found = read_rating(reply.text, VERDICT, "strict")
    named = ALIGNED.lower() in (reply.text or "").lower()  # a bare number is none of the two words
    if found.value is None or not named:
        return Verdict(None, f"verdict not read ({found.reason or 'no_label'})")
    return Verdict(found.value == 1)


@cache
def _data() -> dict[str, Any]:
    return read_toml(QUESTIONS)
