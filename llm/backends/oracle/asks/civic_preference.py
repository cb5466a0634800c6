"""Which of two statements would somebody rather agree with? The one to which the planted law gives more agreement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.civic import agreement, read, shown
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_CASE = re.compile(
    r"^A group looks for common ground on a question: (?P<question>.+)\nOne participant wrote this opinion: (?P<opinion>.+)\n"
    r"Two statements follow\b.*\nStatement 1: (?P<first>.+)\nStatement 2: (?P<second>.+)\nWhich of the two\b"
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.last) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _CASE.search(reading.last)
    assert found is not None
    question, opinion = found["question"], found["opinion"]
    stands, own = read(opinion, question).stance, shown(opinion)
    if stands is None:
        return Reply.failed("no_known_sentence", opinion[:120])
    said = {name: read(found[name], question) for name in ("first", "second")}
    if unread := [name for name, one in said.items() if one.stance is None]:
        return Reply.failed("no_known_sentence", found[unread[0]][:120])
    one, other = (agreement(stands, own.values, own.demand or None, each) or 0.0 for each in said.values())
    return chosen(reading, one - other)


def chosen(reading: Reading, ahead: float) -> Reply:
    """1 when the first is ahead, 2 when it is behind; when neither is, both alike, or no answer where one has to be written."""
    if not reading.request.answers:
        return Reply.failed("tie") if ahead == 0 else Reply("1" if ahead > 0 else "2")
    share = 0.5 if ahead == 0 else float(ahead > 0)
    return Reply("1" if share >= 0.5 else "2", answers={"1": share, "2": 1 - share})
