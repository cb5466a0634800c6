"""The planted law of a judge that tags lines, and its answers.

It knows the true tags of the known lines and of the oracle's own sentences: the direction of the latter is their grade,
reason and appeal are planted by their form, as the planted Bayesian hearer of the oracle has them
(llm/backends/oracle/belief_network.py). Of a line with several such sentences it tags the first one that is not in the
middle. Other lines it cannot read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from parley.agents.topic import load_topic
from parley.llm.backends.oracle.belief_network import evidence
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.phrases import unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import stream

from .known_lines import known_lines
from .tags import NEITHER, NONE, OPPOSES, PARTS, SUPPORTS, Tag, TagFacts, answers_of, reasons_of

NAMED = {"logos": "evidence", "pathos": "emotion", "ethos": "authority"}
"""The appeals of the oracle's sentences, as the reader calls them."""


def answer_tag(reading: Reading, speaker: Speaker) -> Reply:
    """Answer what the direction, reason or appeal of a line is; the answer to a line is the same each time."""
    facts = cast(TagFacts, reading.facts)
    if not {"slug", "part", "statement"} <= set(facts):
        return unknown(reading)
    slug, part, text = facts["slug"], facts["part"], facts["statement"]
    if (tag := true_tag(reading, slug, text)) is None:
        return unknown_sentence(text)
    answers = answers_of(load_topic(slug), part)
    answer, draw = tag[PARTS.index(part)], stream(0, "line tag", slug, part, text)
    if draw.random() >= speaker.laws.of("belief-reader").tag_right:
        answer = draw.choice(answers)
    return Reply(answer, answers={other: float(other == answer) for other in answers})


def true_tag(reading: Reading, slug: str, text: str) -> Tag | None:
    """Return the tags of a known line or of a sentence of the oracle; None for any other line."""
    if text in (known_tags := _known_tags(slug)):
        return known_tags[text]
    root = load_topic(slug).root
    if root not in reading.banks.topics:
        return None
    if not (said := evidence(reading.banks, root, text)):
        grade = reading.banks.topics[root].grade(text)
        return None if grade is None else Tag(_side(grade / 5 - 1), NONE, NONE)
    reason, appeal, direction = next((move for move in said if move[2]), said[0])
    return Tag(_side(direction), list(reasons_of(load_topic(slug)))[reason], NAMED[appeal])


@cache
def _known_tags(slug: str) -> Mapping[str, Tag]:
    lines = known_lines(slug)
    return {str(text): Tag(*tags) for text, *tags in lines[["text", *PARTS]].itertuples(index=False)}


def _side(direction: float) -> str:
    return SUPPORTS if direction > 0 else OPPOSES if direction < 0 else NEITHER
