"""Chats that pocket is measured on, made like those that it was trained on: questions it can answer, seats in a debate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import mesa

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.request import DECLINED, Message, Request, Sampling

WORDING = (
    "Generate {number} questions to elicit one's opinion regarding US politics.",
    "Generate {number} neutral questions to elicit one's opinion regarding US politics.",
    "Write {number} questions that elicit a person's opinion on US politics.",
)
"""Requests for a list of questions."""
LISTINGS = {"given": 0.6, "reversed": 0.2, "shuffled": 0.2}
"""Orders in which the answers to a survey question are listed, and their shares."""


@cache
def answerable() -> tuple[str, ...]:
    """Return the questions on US politics that the rule-based speaker answers without declining."""
    questions = banks().data("questions")["questions"]
    requests = [Request((Message("user", question),), Sampling(), 0, purpose="interview") for question in questions]
    replies = zip(questions, Oracle().complete(requests), strict=True)
    return tuple([question for question, reply in replies if reply.text is not None and DECLINED not in reply.notes])


def any_listing(rng: random.Random) -> str:
    """Return an order in which answers are listed."""
    return rng.choices(list(LISTINGS), list(LISTINGS.values()))[0]


def seated(who: Persona, slug: str, others: Sequence[str], rng: random.Random) -> Debater:
    """Return a person at the beginning of a debate on a topic, with the names of the others."""
    frame = rng.choice(("debate", "conversation"))
    style = DebateStyle(frame, 60, Sampling(), 1.0, "whole", "strict", listing=any_listing(rng))
    return Debater(mesa.Model(), who, load_topic(slug), others, style)
