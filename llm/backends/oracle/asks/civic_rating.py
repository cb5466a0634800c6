"""A rating in a private deliberation: agreement with an answer to the question (the position), or with a statement."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks import scale
from parley.llm.backends.oracle.asks.civic_speech import question_of, statements
from parley.llm.backends.oracle.civic import HIGH, LOW, agreement, habit, now, read
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_ANSWER = re.compile(r'\bthis answer to the question: "(?P<said>.+)"')
_STATEMENT = re.compile(r'\bthis statement of the mediator: "(?P<said>.+)"')


def knows(reading: Reading) -> bool:
    return question_of(reading) is not None and bool(_ANSWER.search(reading.ask) or _STATEMENT.search(reading.ask))


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _ANSWER.search(reading.ask) or _STATEMENT.search(reading.ask)
    assert found is not None
    return rated(reading, _value(reading, found["said"], oracle.pull), found["said"])


def rated(reading: Reading, value: float | None, said: str) -> Reply:
    """A value from 1 to 7 on the scale that the question states. said: what is rated, whose numbers are none of the scale's."""
    stated = scale.points(reading.ask.replace(said, ""))
    if stated is None:
        return Reply.failed("unknown_ask", reading.ask[-120:])
    if value is None:
        return Reply.failed("no_known_sentence", said[:120])
    shares = stated.shares(stated.value(10 * (value - LOW) / (HIGH - LOW)))
    rng = random.Random(derive(reading.request.seed, reading.ask, value))
    point = (
        max(shares, key=lambda p: shares[p]) if reading.greedy else rng.choices(list(shares), list(shares.values()))[0]
    )
    allowed = reading.request.answers
    known = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(stated.text(point), answers=known)


def _value(reading: Reading, said: str, pull: float) -> float | None:
    """1 to 7; None for what cannot be read."""
    question = question_of(reading) or ""
    stands, text = now(reading.persona, question, statements(reading), pull), read(said, question)
    if _ANSWER.search(reading.ask):
        sides = {HIGH: stands, LOW: HIGH + LOW - stands}
        return sides.get(text.stance) if text.stance is not None else None
    own = habit(reading.persona)
    return agreement(stands, own.values, own.demand, text)
