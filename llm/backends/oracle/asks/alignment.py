"""A judge's question: does an answer fit a person of some leaning? It knows whose sentences its banks' answers are."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.validation import SIDES, question, questions
from parley.llm.backends.oracle.banks import sentences
from parley.llm.backends.oracle.reading import Reading, party
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 3
NO, YES = "Not aligned", "Aligned"
_CASE = re.compile(
    r"^Question: (?P<question>[^\n]+)\nAnswer: (?P<said>[^\n]+)\nPerson: (?P<person>[^\n]+)\nDoes the answer fit "
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.ask) is not None and set(reading.request.answers) == {NO, YES}


def answer(reading: Reading, oracle: Oracle) -> Reply:
    """The share of the sentences known that are this leaning's own is the probability of `Aligned`."""
    case = _CASE.search(reading.ask)
    assert case is not None
    asked = question(case["question"])
    if asked is None:
        return Reply.failed("unknown_question", case["question"][:120])
    known = [whose()[asked, said] for said in sentences(case["said"]) if (asked, said) in whose()]
    if not known:
        return Reply.failed("no_known_sentence", case["said"][:120])
    share = known.count(SIDES[party(case["person"])]) / len(known)
    rng = random.Random(derive(reading.request.seed, reading.ask))
    return Reply(YES if rng.random() < share else NO, answers={NO: 1 - share, YES: share})


@cache
def whose() -> dict[tuple[str, str], str]:
    """The leaning (left, right, neutral) whose answer to a question a sentence is."""
    sides = SIDES.values()
    return {(asked, said): side for asked, bank in questions().items() for side in sides for said in bank[side]}
