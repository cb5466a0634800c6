"""Reads, rates and writes messages with an aim, by the law of persuasion_law.py."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker, dither, move, normal
from parley.llm.backends.oracle.persuasion_law import BASE, CENTRE, RATED
from parley.llm.backends.oracle.phrases import TopicBank, sentences, unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_shares
from parley.llm.request import Reply
from parley.llm.seeding import digest, stream

SENTENCES = 2
_QUOTED = re.compile(r'"[^"]+" \([^()]*\d\)')
"""A quotation with its source, as readers see it."""


class _Claim(NamedTuple):
    """What a claim is about: the topic's name and bank, and the direction (1, -1) of the claim on its axis."""

    slug: str
    bank: TopicBank
    towards: int


def answer_persuasion(reading: Reading, speaker: Speaker) -> Reply:
    """Answer 1 or 2, with the probability of each: which message does more to persuade?"""
    strengths = _strengths(reading, speaker, reading.facts.get("candidates", ()))
    if isinstance(strengths, Reply):
        return strengths
    first = 1 / (1 + math.exp(strengths[1] - strengths[0] - speaker.laws.persuasion.place))
    chosen = "1" if stream(reading.seed, reading.ask).random() < first else "2"
    return Reply(chosen, answers={"1": first, "2": 1 - first} if reading.request.answers else None)


def answer_persuasiveness(reading: Reading, speaker: Speaker) -> Reply:
    """Rate how persuasive a message is, with the exact distribution."""
    strengths, scale = _strengths(reading, speaker, [reading.facts.get("statement", "")]), reading.facts.get("scale")
    if isinstance(strengths, Reply):
        return strengths
    if scale is None:
        return unknown(reading)
    shares = nearest_shares(scale, min(max(CENTRE + RATED * strengths[0], scale.low), scale.high))
    allowed = reading.request.answers
    answers = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(str(max(shares, key=shares.__getitem__)), answers=answers)


def write_message(reading: Reading, speaker: Speaker) -> Reply:
    """Write a message, by a piece of advice if there is one."""
    claim = _claim(reading)
    if claim is None:
        return unknown(reading)
    rng = stream(reading.request.seed, reading.ask)
    worth = (
        sum(_worth(reading, line) for line in [reading.facts.get("advice", "")] if line)
        * speaker.laws.persuasion.advice
    )
    return _written(claim, rng.choice(BASE) + worth, SENTENCES, (), rng)


def rewrite_message(reading: Reading, speaker: Speaker) -> Reply:
    """Write a message anew: `gain` points nearer to the claim, or in other words of the same grade."""
    claim, text = _claim(reading), reading.facts.get("statement", "")
    if claim is None:
        return unknown(reading)
    grade = claim.bank.grade(text)
    if grade is None:
        return unknown_sentence(text)
    rng = stream(reading.request.seed, reading.ask)
    gain = speaker.laws.persuasion.gain if reading.facts.get("form") == "persuasive" else 0.0
    said = sentences(text)
    toward = grade if claim.towards > 0 else 10 - grade
    return _written(claim, toward + gain, len(said), said, rng)


def write_advice(reading: Reading, speaker: Speaker) -> Reply:
    """Give numbered pieces of advice from the bank, some of which are worth nothing."""
    known = list(reading.banks.data("persuasion").get("advice", ()))
    if not known:
        return unknown(reading)
    rng = stream(reading.request.seed, reading.ask)
    drawn = rng.sample(known, min(reading.facts.get("count", 1), len(known)))
    return Reply("\n".join(f"{number}. {entry['text']}" for number, entry in enumerate(drawn, 1)))


def _claim(reading: Reading) -> _Claim | None:
    text = reading.facts.get("claim", "")
    slug = reading.banks.recognised(text)
    if slug is None:
        return None
    bank = reading.banks.topics[slug]
    return _Claim(slug, bank, bank.direction(text.lower()) or 1)


def _strengths(reading: Reading, speaker: Speaker, texts: Sequence[str]) -> list[float] | Reply:
    """Return the strengths of messages for the reader, or a failure: a claim or a message that it does not know."""
    if "post" in reading.facts:
        return [_reply_strength(reading, speaker, text) for text in texts]
    claim = _claim(reading)
    if claim is None:
        return unknown(reading)
    attitude, planted = speaker.start(reading.persona, claim.slug), speaker.parameters[claim.slug]
    found = []
    for text in texts:
        grade = claim.bank.grade(text)
        if grade is None:
            return unknown_sentence(text)
        moved = claim.towards * (move(attitude, grade, planted) - move(attitude, None, planted))
        noise = normal(digest("persuasion", reading.persona, text))
        found.append(speaker.laws.persuasion.strength(moved, len(text.split()), noise))
    return found


def _reply_strength(reading: Reading, speaker: Speaker, text: str) -> float:
    """Return the strength of a reply to a post with a false claim."""
    noise = normal(digest("persuasion", reading.persona, text))
    return speaker.laws.persuasion.reply_strength(len(_QUOTED.findall(text)), len(text.split()), noise)


def _worth(reading: Reading, advice: str) -> float:
    """Return the points that a piece of advice is worth; 0 for one that the bank does not know."""
    entries = reading.banks.data("persuasion").get("advice", ())
    return next((float(entry["points"]) for entry in entries if entry["text"] == advice), 0.0)


def _written(claim: _Claim, toward: float, count: int, said: Sequence[str], rng: random.Random) -> Reply:
    """Return `count` sentences whose mean grade toward the claim is this one in the mean of many; none of those in `said`."""
    lines: list[str] = []
    for _ in range(count):
        wanted = dither(min(max(toward, 0.0), 10.0), 2, rng.random())
        grade = wanted if claim.towards > 0 else 10 - wanted
        open_ = [line for form in claim.bank.by_grade[grade] for line in form if line not in (*said, *lines)]
        lines.append(rng.choice(open_))
    return Reply(" ".join(lines))
