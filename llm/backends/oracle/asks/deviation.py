"""A judge's question: how far has a later version of a piece of news moved from the first? By the distance of their grades.

Both are graded by the bank of the same topic; a version or a source of which no sentence is known has no distance.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 3
_CASE = re.compile(
    r"^First: (?P<first>[^\n]+)\nLater: (?P<later>[^\n]+)\n"
    r"How far has the later version moved\b.* from (?P<low>\d+) to (?P<high>\d+)\b"
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    case = _CASE.search(reading.ask)
    assert case is not None
    low, high = int(case["low"]), int(case["high"])
    known = [(bank.grade(case["first"]), bank.grade(case["later"])) for bank in topics().values()]
    gaps = [abs(one - other) for one, other in known if one is not None and other is not None]
    if not gaps or low >= high:
        return Reply.failed("no_known_sentence", case["later"][:120])
    value = low + gaps[0] / 10 * (high - low)
    shares = {point: max(0.0, 1 - abs(value - point)) for point in range(low, high + 1)}
    allowed = reading.request.answers
    told = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(str(max(shares, key=lambda point: shares[point])), answers=told)
