"""A judge's question: is an appeal (logos, pathos, ethos) made in a statement? Each form of sentence of the banks has one.

Which one follows from a digest of the form: it is planted so that it can be found again, and is not read out of the meaning. What
answers a survey and what frames a reply (address, opening, question) has none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import sentences, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import digest

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 3
APPEALS = ("logos", "pathos", "ethos")
ABSENT, PRESENT = "Absent", "Present"
_CASE = re.compile(
    r"^Statement: (?P<said>[^\n]+)\nAppeal: (?P<appeal>logos|pathos|ethos), [^\n]+\nIs this appeal made "
)


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.ask) is not None and set(reading.request.answers) == {ABSENT, PRESENT}


def answer(reading: Reading, oracle: Oracle) -> Reply:
    case = _CASE.search(reading.ask)
    assert case is not None
    said = sentences(case["said"])
    known = [bank for bank in topics().values() if any(sentence in bank.grades for sentence in said)]
    if not known:
        return Reply.failed("no_known_sentence", case["said"][:120])
    made = {appeal(bank.forms[sentence]) for bank in known for sentence in said if sentence in bank.forms}
    there = float(case["appeal"] in made)
    return Reply(PRESENT if there else ABSENT, answers={ABSENT: 1 - there, PRESENT: there})


def appeal(form: str) -> str:
    """The appeal of a form of sentence."""
    return APPEALS[digest("appeal", form)[0] % len(APPEALS)]
