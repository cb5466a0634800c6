"""How much a line will matter: the lowest point for what the speaker thinks itself, the highest for the other end of the axis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import share_of, standing, unknown
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 3
_KNOWS = re.compile(r'"(?P<said>.+)" How much will this matter\b.* from (?P<low>\d+) to (?P<high>\d+)\b', re.S)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    low, high = int(found["low"]), int(found["high"])
    own, said = standing(reading, oracle), share_of(reading, found["said"])
    if own is None:
        return unknown(reading)
    if said is None:
        return Reply.failed("no_known_sentence", found["said"][:120])
    return Reply(str(round(low + abs(own.share - said) * (high - low))))
