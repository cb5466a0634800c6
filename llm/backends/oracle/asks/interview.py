"""A question put to one person: on a debate topic, or on a theme of US politics that the banks know."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING

from llm.backends.oracle.asks.speech import _body
from llm.backends.oracle.banks import data, recognised, topics
from llm.backends.oracle.mind import dither
from llm.backends.oracle.reading import Reading
from llm.randomness import derive
from llm.request import Reply

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle

ORDER = 90
STANCE_SHARE = 0.55
"""Share of on-topic answers with the stance sentence."""


def knows(reading: Reading) -> bool:
    return "?" in reading.ask and (recognised(reading.ask) is not None or theme(reading.ask) is not None)


def answer(reading: Reading, oracle: Oracle) -> Reply:
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, reading.ask))
    if recognised(reading.ask) is None:
        lines = data("values")["themes"][theme(reading.ask)][reading.party]
        return Reply(" ".join([*_identity(reading, rng), *rng.sample(lines, 2)]))
    value, unread = oracle.attitude(reading)
    bank = topics()[reading.topic or ""]
    body = _body(bank, dither(value, 2, None if reading.greedy else rng), "", 2, rng)
    if rng.random() < STANCE_SHARE:
        body.insert(
            rng.randrange(len(body) + 1), bank.stance_sentence(dither(value, 1, None if reading.greedy else rng))
        )
    return Reply(" ".join([*_identity(reading, rng), *body]), notes={"unread": unread} if unread else {})


def _identity(reading: Reading, rng: random.Random) -> list[str]:
    return [rng.choice(data("common")["identity"][reading.party])] if rng.random() < 0.5 else []


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
