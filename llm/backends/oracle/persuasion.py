"""Reads messages with an aim, and chooses between two, by the law of speech_laws.py."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker, move, normal
from parley.llm.backends.oracle.phrases import TopicBank, unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import digest, stream

_QUOTED = re.compile(r'"[^"]+" \([^()]*\d\)')
"""A quotation with its source, as readers see it."""


class Claim(NamedTuple):
    """What a claim is about: the topic's name and bank, and the direction (1, -1) of the claim on its axis."""

    slug: str
    bank: TopicBank
    towards: int


def answer_persuasion(reading: Reading, speaker: Speaker) -> Reply:
    """Answer 1 or 2, with the probability of each: which message does more to persuade?"""
    strengths = strengths_of(reading, speaker, reading.facts.get("candidates", ()))
    if isinstance(strengths, Reply):
        return strengths
    return prefer(reading, speaker, strengths, reading.seed)


def prefer(reading: Reading, speaker: Speaker, strengths: Sequence[float], seed: int) -> Reply:
    """Answer 1 or 2, with the probability of each, by the strengths of two texts."""
    first = 1 / (1 + math.exp(strengths[1] - strengths[0] - speaker.laws.persuasion.place))
    chosen = "1" if stream(seed, reading.ask).random() < first else "2"
    return Reply(chosen, answers={"1": first, "2": 1 - first} if reading.request.answers else None)


def claim_of(reading: Reading) -> Claim | None:
    """Return what the claim of a question is about; None for one that the oracle does not know."""
    text = reading.facts.get("claim", "")
    if (slug := reading.banks.recognised(text)) is None:
        return None
    bank = reading.banks.topics[slug]
    return Claim(slug, bank, bank.direction(text.lower()) or 1)


def strengths_of(reading: Reading, speaker: Speaker, texts: Sequence[str]) -> list[float] | Reply:
    """Return the strengths of messages for the reader, or a failure: a claim or a message that it does not know."""
    if "post" in reading.facts:
        return [_reply_strength(reading, speaker, text) for text in texts]
    if (claim := claim_of(reading)) is None:
        return unknown(reading)
    attitude, planted = speaker.start(reading.persona, claim.slug), speaker.parameters[claim.slug]
    strengths = []
    for text in texts:
        grade = claim.bank.grade(text)
        if grade is None:
            return unknown_sentence(text)
        moved = claim.towards * (move(attitude, grade, planted) - move(attitude, None, planted))
        noise = normal(digest("persuasion", reading.persona, text))
        strengths.append(speaker.laws.persuasion.strength(moved, len(text.split()), noise))
    return strengths


def _reply_strength(reading: Reading, speaker: Speaker, text: str) -> float:
    """Return the strength of a reply to a post with a false claim."""
    noise = normal(digest("persuasion", reading.persona, text))
    return speaker.laws.persuasion.reply_strength(len(_QUOTED.findall(text)), len(text.split()), noise)
