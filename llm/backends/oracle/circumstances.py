"""How the speaker fares: worry about money, low spirits, leaving home. Each answers to news of one kind, by a planted size.

The rating starts at a whole point from 3 to 7 that depends on the persona. News is read in what others said, by the patterns
[events] of language.toml:

    money_worry   falls by `events` points once a monthly payment to all is announced
    low_spirits   falls by half of that
    mobility      falls by `events` points while the last news on a storm says to stay inside
"""

from __future__ import annotations

import re

from parley.llm.backends.oracle import surveys
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_shares, pick
from parley.llm.request import Reply
from parley.llm.seeding import stream

SIZES = {"money_worry": 1.0, "low_spirits": 0.5, "mobility": 1.0}
"""By construct, the size of its answer to news, as a share of `events`."""
LOWEST, HIGHEST = 3, 7


def answer_survey(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a rating of how the speaker fares, and its exact distribution; any other survey question as in surveys.py."""
    if reading.facts.get("construct") not in SIZES:
        return surveys.answer_survey(reading, speaker)
    scale, construct = reading.facts.get("scale"), reading.facts.get("construct", "")
    if scale is None:
        return unknown(reading)
    start = stream(0, reading.persona, construct).randint(LOWEST, HIGHEST)
    moved = start - SIZES[construct] * speaker.laws.events * _holds(reading, construct)
    value = scale.low + min(max(moved, 0.0), 10.0) / 10 * (scale.high - scale.low)
    return pick(reading, nearest_shares(scale, value), str, reading.ask, value)


def _holds(reading: Reading, construct: str) -> bool:
    """Whether news that matters to this construct was heard, and is not over."""
    patterns = reading.banks.data("language")["events"]
    begins, ends = ("danger", patterns["over"]) if construct == "mobility" else ("payment", "")
    holds = False
    for _, text in reading.heard:
        if re.search(patterns[begins], text, re.I):
            holds = True
        elif ends and re.search(ends, text, re.I):
            holds = False
    return holds
