"""A question put to one person: on a debate topic, or on a theme of US politics that the banks know."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks import scale
from parley.llm.backends.oracle.asks.speech import body_of
from parley.llm.backends.oracle.banks import data, recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 90


def knows(reading: Reading) -> bool:
    known = recognised(reading.ask) is not None or theme(reading.ask) is not None
    return "?" in reading.ask and known and not scale.asked(reading.ask)


def answer(reading: Reading, oracle: Oracle) -> Reply:
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, reading.ask))
    if recognised(reading.ask) is None:
        lines = data("values")["themes"][theme(reading.ask)][reading.party]
        return Reply(" ".join([*_identity(reading, rng), *rng.sample(lines, 2)]))
    value, unread = oracle.attitude(reading)
    bank, share = topics()[reading.topic or ""], oracle.stance_in_interviews
    body = body_of(bank, value, reading, 2, "", rng, share, oracle.stance_first)
    return Reply(" ".join([*_identity(reading, rng), *body]), notes={"unread": unread} if unread else {})


def _identity(reading: Reading, rng: random.Random) -> list[str]:
    """Who is speaking, in half of the answers (a line that names neither the topic nor the debate)."""
    lines = [line for line in data("common")["identity"][reading.party] if "{" not in line]
    return [rng.choice(lines)] if rng.random() < 0.5 else []


@lru_cache(maxsize=4096)
def theme(ask: str) -> str | None:
    """The theme whose phrase comes first in a question."""
    lower = ask.lower()
    found = [
        (lower.find(phrase), -len(phrase), name)
        for name, bank in data("values")["themes"].items()
        for phrase in bank["recognise"]
        if phrase in lower
    ]
    return min(found)[2] if found else None
