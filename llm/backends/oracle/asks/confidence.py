"""How confident are you ...? Half of the scale in the middle, all of it at either end of the axis: max(a, 10 - a) of 10."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import standing, unknown
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 4
_KNOWS = re.compile(r"\bhow (?:confident|sure|certain) are you\b.* from (\d+) to (\d+)\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found, own = _KNOWS.search(reading.ask), standing(reading, oracle)
    assert found is not None
    low, high = int(found[1]), int(found[2])
    if own is None or low >= high:
        return unknown(reading)
    value = low + own.conviction * (high - low)
    shares = {point: max(0.0, 1 - abs(value - point)) for point in range(low, high + 1)}
    rng = random.Random(derive(reading.request.seed, reading.ask, value))
    drawn = rng.choices(list(shares), list(shares.values()))[0]
    point = max(shares, key=lambda one: shares[one]) if reading.greedy else drawn
    allowed = reading.request.answers
    known = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(str(point), answers=known, notes=own.notes)
