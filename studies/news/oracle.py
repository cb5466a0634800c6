"""Versions of a story, by the law of law.py, and their distance from the report.

A version is the true report with a sentence for each dimension whose degree is above 0 (banks/<code>/retelling.toml).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parley.llm.backends.oracle.dynamics import Speaker, dither
from parley.llm.backends.oracle.phrases import Banks, sentences, unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import too_few_words, unknown
from parley.llm.backends.oracle.surveys import nearest_point
from parley.llm.request import Reply
from parley.llm.seeding import stream

from .law import DIMENSIONS

if TYPE_CHECKING:
    from .tellers import StoryFacts


def retell(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the next version of the story that the speaker got."""
    banks, facts = reading.banks, cast("StoryFacts", reading.facts)
    got = facts.get("source", "")
    if reading.topic is None or not banks.added:
        return unknown(reading)
    if (degrees := degrees_of(banks, got)) is None:
        return unknown_sentence(got)
    rng, role = stream(reading.seed, "retelling", got, reading.persona), facts.get("role", "").partition("+")[0]
    written = [sentence for sentence in sentences(got) if sentence not in set(banks.added.values())]
    for name in DIMENSIONS:
        value = speaker.laws.of("refutation").next_degree(degrees[name], name, role, facts.get("corrected", False))
        degree = dither(value, 1, None if reading.greedy else rng.random())
        written += [banks.added[name, degree]] if degree else []
    text = " ".join(written)
    return Reply(text) if len(text.split()) <= reading.words else too_few_words(reading)


def degrees_of(banks: Banks, text: str) -> dict[str, int] | None:
    """Return the degree of each dimension in a version; None for a text with no sentence of a report or of the bank."""
    text_sentences = sentences(text)
    shown = {name: degree for (name, degree), sentence in banks.added.items() if sentence in text_sentences}
    is_known = shown or any(sentence in bank.retold for bank in banks.topics.values() for sentence in text_sentences)
    return {name: shown.get(name, 0) for name in DIMENSIONS} if is_known else None


def judge_deviation(reading: Reading, speaker: Speaker) -> Reply:
    """How far is a version from the report in one dimension? By the distance of their degrees."""
    facts, banks = reading.facts, reading.banks
    scale, name = facts.get("scale"), facts.get("dimension", "")
    first, later = (degrees_of(banks, text) for text in (facts.get("source", ""), facts.get("statement", "")))
    if scale is None or name not in DIMENSIONS:
        return unknown(reading)
    if first is None or later is None:
        return unknown_sentence(facts.get("statement", ""))
    return nearest_point(reading, scale, scale.low + abs(later[name] - first[name]) / 10 * (scale.high - scale.low))
