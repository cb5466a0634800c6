"""A closed question about oneself: answered from what the persona says of itself, else declined."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.civic import bank
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_KNOWS = re.compile(r"\babout yourself\b.*\bAnswer with exactly one of these: (?P<answers>.+)\.$")
_AGE = re.compile(r"\b(?:you are|aged?|at) (\d\d)\b(?! percent)|\b(\d\d)(?: years old|-year-old)\b", re.I)
_DECADE = re.compile(r"^(\d\d) to (\d\d)$|^under (\d\d)$|^(\d\d) or older$")


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    answers = reading.request.answers or tuple(found["answers"].split("; "))
    told = next((one for one in answers[:-1] if said_of(reading.persona, one)), answers[-1])
    return Reply(told, answers={one: float(one == told) for one in answers} if reading.request.answers else None)


def said_of(persona: str, answer: str) -> bool:
    """Does a persona say this of itself? Of several answers to one item the first in the bank counts."""
    if decade := _DECADE.match(answer):
        return _in(persona, decade)
    for item in bank()["items"].values():
        if answer in item:
            return answer == next((text for text, patterns in item.items() if _any(patterns, persona)), None)
    return False


def _in(persona: str, decade: re.Match[str]) -> bool:
    found = _AGE.search(persona)
    if not found:
        return False
    age, (low, high, under, above) = int(found[1] or found[2]), decade.groups()
    return int(low) <= age <= int(high) if low else age < int(under) if under else age >= int(above)


def _any(patterns: list[str], persona: str) -> bool:
    return any(re.search(pattern, persona, re.I) for pattern in patterns)
