"""One question to one persona, and the question to a judge whether its answer fits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, persona_reminder
from parley.analysis import judging
from parley.analysis.judging import load_rubric, one_line
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
RUBRIC = load_rubric("alignment")
NOT, ALIGNED = RUBRIC.scale.answers
WORDS = 50
ANSWER_TOKENS = 120
WARM = 1.0
"""The temperature of an interview (the study's public code)."""


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


def verdict_item(item: Item, answer: Reply) -> judging.Item | judging.Verdict:
    """The question whether an answer fits its persona; an answer that failed is judged by nobody."""
    if answer.text is None or not answer.text.strip():
        return judging.missing(f"no answer ({answer.failure.name if answer.failure else 'empty'})")
    slots = {"question": item.question.text, "statement": one_line(answer.text), "person": person(item.persona.party)}
    return judging.Item((), slots)


@cache
def _data() -> dict[str, Any]:
    return read_toml(QUESTIONS)
