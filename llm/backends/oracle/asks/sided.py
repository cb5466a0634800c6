"""A statement for a side that is given: "Argue against the claim that ...". It goes 0.8 of the way from its attitude to that end.

So who argues for what it thinks sounds surer than who argues against it, and moves those who hear it further: that is planted.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.speech import compose
from parley.llm.backends.oracle.banks import recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 39
WAY = 0.8
_KNOWS = re.compile(
    r"^Argue (?P<stance>for|against) the claim that (?P<claim>.+?), whatever you think of it yourself\."
)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and recognised(reading.opening) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    bank, claim = topics()[reading.topic or ""], found["claim"].lower()
    phrase = next((phrase for phrase in sorted(bank.propositions, key=len, reverse=True) if phrase in claim), None)
    if phrase is None:
        return Reply.failed("unknown_claim", claim[:120])
    end = 10.0 if (bank.propositions[phrase] > 0) == (found["stance"] == "for") else 0.0
    own, unread = oracle.attitude(reading)
    said = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, said))
    text = compose(reading, own + WAY * (end - own), rng, oracle)
    if text is None:
        return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    return Reply(text, notes={"unread": unread} if unread else {})
