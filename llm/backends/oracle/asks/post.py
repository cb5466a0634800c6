"""A public post: a sentence or two of one grade, perhaps the stance, to nobody in particular. Its expected grade is the attitude.

What is said in public is what is thought: no difference between the two is planted.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.speech import body_of
from parley.llm.backends.oracle.banks import recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 39
_KNOWS = re.compile(r"\bpublic post\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and recognised(reading.opening) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    value, unread = oracle.attitude(reading)
    said = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, said))
    before = "\n".join(reading.own)
    bank, count = topics()[reading.topic or ""], 1 + (rng.random() < 0.55)
    body = body_of(bank, value, reading, count, before, rng, oracle.stance_in_speech, oracle.stance_first)
    kept: list[str] = []
    for sentence in body:
        if len(" ".join([*kept, sentence]).split()) <= reading.words:
            kept.append(sentence)
    if not kept:
        return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    return Reply(" ".join(kept), notes={"unread": unread} if unread else {})
