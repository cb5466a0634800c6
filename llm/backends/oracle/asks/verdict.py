"""A judge's question: how strongly does a statement agree with a claim? It knows the grade of every sentence of its banks."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.scale import stated
from parley.llm.backends.oracle.banks import recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 3
_CASE = re.compile(
    r"^Statement(?: \([^()\n]*\))?: (?P<said>[^\n]+)\nClaim: (?P<claim>[^\n]+)\.\n(?P<ask>How strongly [^\n]+)$"
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _CASE.search(reading.ask)
    assert found is not None
    topic = recognised(found["claim"])
    scale = topic and stated(f"How much do you agree that {found['claim']}? {found['ask']}", topic)
    if not topic or not scale:
        return Reply.failed("unknown_claim", found["claim"][:120])
    grade = topics()[topic].grade(found["said"])
    if grade is None:
        return Reply.failed("no_known_sentence", found["said"][:120])
    shares = scale.shares(scale.value(grade))
    rng = random.Random(derive(reading.request.seed, reading.ask))
    point = rng.choices(list(shares), list(shares.values()))[0]
    allowed = reading.request.answers
    known = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(scale.text(point), answers=known)
