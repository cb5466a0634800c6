"""How strongly would somebody who wrote this opinion agree with a statement? By the planted law, from what the opinion shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.civic_rating import rated
from parley.llm.backends.oracle.civic import agreement, read, shown
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_CASE = re.compile(
    r"^A group looks for common ground on a question: (?P<question>.+)\nOne participant wrote this opinion: (?P<opinion>.+)\n"
    r"The statement that the group is to agree on: (?P<statement>.+)\nHow strongly would this participant agree\b"
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.last) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _CASE.search(reading.last)
    assert found is not None
    stands, own = read(found["opinion"], found["question"]).stance, shown(found["opinion"])
    if stands is None:
        return Reply.failed("no_known_sentence", found["opinion"][:120])
    said = read(found["statement"], found["question"])
    value = agreement(stands, own.values, own.demand or None, said)
    return rated(reading, value, reading.last[: found.end()])
