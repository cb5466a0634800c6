"""Which of two critiques would somebody rather have written? The one that shows more of the person's habits and verdict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.civic_preference import chosen
from parley.llm.backends.oracle.asks.civic_representative import habits
from parley.llm.backends.oracle.civic import Habit, bank, law, read, shown
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_CASE = re.compile(
    r"^A group looks for common ground on a question: (?P<question>.+)\nOne participant wrote this opinion: (?P<opinion>.+)\n"
    r"The draft statement of the group: (?P<draft>.+)(?P<earlier>(?:\nOf another draft, .+)*)\n"
    r"Two critiques of the draft follow\b.*\nCritique 1: (?P<first>.+)\nCritique 2: (?P<second>.+)\nWhich of the two\b"
)
_EARLIER = re.compile(r"\nOf another draft, on another question, this participant wrote: (.+)")


def knows(reading: Reading) -> bool:
    return _CASE.search(reading.last) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _CASE.search(reading.last)
    assert found is not None
    stands, said = (read(found[name], found["question"]).stance for name in ("opinion", "draft"))
    if stands is None or said is None:
        return Reply.failed("no_known_sentence", found["opinion" if stands is None else "draft"][:120])
    own = habits([found["opinion"], *_EARLIER.findall(found["earlier"])])
    one, other = (_likeness(own, said - stands, found[name]) for name in ("first", "second"))
    return chosen(reading, one - other)


def _likeness(own: Habit, apart: float, text: str) -> int:
    """How many of opener, demand, closer, values and verdict the text has in common with the person."""
    habit = shown(text)
    alike = [mine == its != "" for mine, its in zip(own[:3], habit[:3], strict=True)]
    return sum(alike) + len(set(own.values) & set(habit.values)) + (_verdict(text) == _kind(apart))


def _kind(apart: float) -> str:
    return "right" if abs(apart) <= law("near") else "yes" if apart > 0 else "no"


def _verdict(text: str) -> str:
    """right, yes (too much of one), no, or nothing known."""
    found = [kind for kind, lines in bank()["verdicts"].items() if any(line in text for line in lines)]
    return found[0].removeprefix("far_") if found else ""
