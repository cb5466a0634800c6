"""Rates and writes messages with an aim, by the law of llm/backends/oracle/speech_laws.py."""

from __future__ import annotations

import random
from collections.abc import Sequence

from parley.llm.backends.oracle.dynamics import Speaker, dither
from parley.llm.backends.oracle.persuasion import Claim, claim_of, strengths_of
from parley.llm.backends.oracle.phrases import sentences, unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech_laws import BASE, CENTRE, RATED
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_point
from parley.llm.request import Reply
from parley.llm.seeding import stream

SENTENCES = 2


def answer_persuasiveness(reading: Reading, speaker: Speaker) -> Reply:
    """Rate how persuasive a message is, with the exact distribution."""
    strengths, scale = strengths_of(reading, speaker, [reading.facts.get("statement", "")]), reading.facts.get("scale")
    if isinstance(strengths, Reply):
        return strengths
    if scale is None:
        return unknown(reading)
    return nearest_point(reading, scale, min(max(CENTRE + RATED * strengths[0], scale.low), scale.high))


def write_message(reading: Reading, speaker: Speaker) -> Reply:
    """Write a message, by a piece of advice if there is one."""
    if (claim := claim_of(reading)) is None:
        return unknown(reading)
    rng = stream(reading.request.seed, reading.ask)
    worth = (
        sum(_worth(reading, line) for line in [reading.facts.get("advice", "")] if line)
        * speaker.laws.persuasion.advice
    )
    return _written(claim, rng.choice(BASE) + worth, SENTENCES, (), rng)


def rewrite_message(reading: Reading, speaker: Speaker) -> Reply:
    """Write a message anew: `gain` points nearer to the claim, or in other words of the same grade."""
    claim, text = claim_of(reading), reading.facts.get("statement", "")
    if claim is None:
        return unknown(reading)
    grade = claim.bank.grade(text)
    if grade is None:
        return unknown_sentence(text)
    rng = stream(reading.request.seed, reading.ask)
    gain = speaker.laws.persuasion.gain if reading.facts.get("form") == "persuasive" else 0.0
    text_sentences = sentences(text)
    toward = grade if claim.towards > 0 else 10 - grade
    return _written(claim, toward + gain, len(text_sentences), text_sentences, rng)


def write_advice(reading: Reading, speaker: Speaker) -> Reply:
    """Give numbered pieces of advice from the bank, some of which are worth nothing."""
    advice = list(reading.banks.data("persuasion").get("advice", ()))
    if not advice:
        return unknown(reading)
    rng = stream(reading.request.seed, reading.ask)
    drawn = rng.sample(advice, min(reading.facts.get("count", 1), len(advice)))
    return Reply("\n".join(f"{number}. {entry['text']}" for number, entry in enumerate(drawn, 1)))


def _worth(reading: Reading, advice: str) -> float:
    """Return the points that a piece of advice is worth; 0 for one that the bank does not know."""
    entries = reading.banks.data("persuasion").get("advice", ())
    return next((float(entry["points"]) for entry in entries if entry["text"] == advice), 0.0)


def _written(claim: Claim, toward: float, count: int, stated: Sequence[str], rng: random.Random) -> Reply:
    """Return `count` sentences whose mean grade toward the claim is this one in the mean of many; none of those `stated`."""
    lines: list[str] = []
    for _ in range(count):
        wanted = dither(min(max(toward, 0.0), 10.0), 2, rng.random())
        grade = wanted if claim.towards > 0 else 10 - wanted
        open_ = [line for form in claim.bank.by_grade[grade] for line in form if line not in (*stated, *lines)]
        lines.append(rng.choice(open_))
    return Reply(" ".join(lines))
