"""Ratings of statements by the law of law.py, with their exact distribution."""

from __future__ import annotations

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_shares, pick
from parley.llm.request import Reply

STEP = 1.2
"""Points of a scale from 1 to 7 for one SD of the crowd."""


def answer_truthfulness(reading: Reading, speaker: Speaker) -> Reply:
    """Answer how much a statement has of a quality."""
    facts = reading.facts
    scale = facts.get("scale")
    if scale is None or "statement" not in facts or "dimension" not in facts:
        return unknown(reading)
    view = speaker.laws.of("truthfulness").rating(reading.persona, facts["statement"], facts["dimension"])
    value = (scale.low + scale.high) / 2 + STEP * (scale.high - scale.low) / 6 * view
    return pick(reading, nearest_shares(scale, min(max(value, scale.low), scale.high)), str, "truthfulness")
