"""What the tests of the known-truth speaker share: the speaker, requests in its own form, and real debaters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mesa
import pytest

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import TopicBank, banks
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

TURN = "Complete your next reply."


@pytest.fixture
def oracle() -> Oracle:
    return open_backend("")


@pytest.fixture
def line() -> Callable[..., str]:
    """line(slug, grade, number): a bank sentence of a grade."""

    def make(slug: str, grade: int, number: int = 0) -> str:
        bank: TopicBank = banks().topics[slug]
        return bank.by_grade[grade][number][0]

    return make


@pytest.fixture
def asked(oracle: Oracle) -> Callable[..., Reply]:
    """asked(question, persona=..., seed=..., purpose=..., facts=...): the reply to one question in one message."""

    def make(
        question: str,
        persona: str = "You are an American.",
        seed: int = 0,
        temperature: float = 1.0,
        answers: Sequence[str] = (),
        purpose: str = "interview",
        facts: Facts | None = None,
    ) -> Reply:
        messages = (Message("system", persona), Message("user", question))
        request = Request(messages, Sampling(temperature, 200), seed, tuple(answers), purpose, facts=facts or {})
        return oracle.complete([request])[0]

    return make


@pytest.fixture
def turn() -> Callable[..., Request]:
    """turn(heard, ..., form=..., role=...): the request for an utterance in a debate, after lines heard as (name, text)."""

    def make(
        heard: Sequence[tuple[str, str]] = (),
        slug: str = "climate_change",
        persona: str = "You are an American.",
        words: int = 60,
        seed: int = 0,
        temperature: float = 1.0,
        **more: str,
    ) -> Request:
        opening = f"This is a debate about {banks().topics[slug].title}. You are Ann, in at most {words} words."
        block = "\n".join([f"{name}: {text}" for name, text in heard])
        content = "\n\n".join([part for part in (opening, block, TURN) if part])
        facts: Facts = {"topic": banks().topics[slug].title, "frame": "debate", "words": words, "form": "reply", **more}  # type: ignore[typeddict-item]
        messages = (Message("system", persona), Message("user", content))
        return Request(messages, Sampling(temperature), seed, facts=facts)

    return make


@pytest.fixture
def debater() -> Callable[..., Debater]:
    """debater(backstory, memory=...): a real agent of the project, as a room makes it."""

    def make(
        backstory: str = "You are an American.",
        slug: str = "climate_change",
        others: Sequence[str] = ("Bob", "Cleo"),
        memory: str = "whole",
        frame: str = "debate",
        words: int = 60,
    ) -> Debater:
        style = DebateStyle(frame, words, Sampling(1.0), 0.0, memory, "strict")
        person = Persona("p_01", "default", "Ann", backstory)
        return Debater(mesa.Model(), person, load_topic(slug), others, style)

    return make
