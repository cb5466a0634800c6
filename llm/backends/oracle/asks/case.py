"""The case that opens a debate, put together from the arguments for and against that it is to be made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llm.backends.oracle.reading import Reading
from llm.request import Reply

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle

ORDER = 2
_KNOWS = re.compile(
    r"^Write the situation that opens a debate about (?P<topic>[^:\n]+):.*\nArguments for:\n(?P<pro>(?:- .+\n)+)"
    r"Arguments against:\n(?P<con>(?:- .+\n?)+)$"
)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    sides = [" and that ".join(_clauses(found[side])) for side in ("pro", "con")]
    return Reply(
        f"A city council has to decide what to do about {found['topic']}, and the hall is full. Some say that {sides[0]}. "
        f"Others answer that {sides[1]}. The vote is tonight."
    )


def _clauses(block: str) -> list[str]:
    """Arguments as parts of a sentence: small letters first, but for names of one letter (I) or all capitals."""
    lines = [line.removeprefix("- ").rstrip(" .") for line in block.strip().split("\n")]
    return [line if line.split()[0].isupper() else line[0].lower() + line[1:] for line in lines]
