"""The oracle as a person who answers for or against a claim, by the law of law.py and the facts of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest

if TYPE_CHECKING:
    from .members import SideFacts


def answer_side(reading: Reading, speaker: Speaker) -> Reply:
    """Answer A or B, with the exact probability of each."""
    facts = cast("SideFacts", reading.facts)
    if len(reading.request.answers) != 2 or "listed_first" not in facts or "others" not in facts:
        return unknown(reading)
    agree, others = facts["others"]
    told = (2 * agree - others) / others if others else 0.0
    first, deviation = facts["listed_first"] == "for", normal(digest("side", reading.persona, facts.get("claim", "")))
    share = speaker.laws.of("consensus-phases").share(told, first, deviation)
    reply = Reply(None)
    set_choice(reply, reading.request, [share, 1 - share] if first else [1 - share, share])
    return reply
