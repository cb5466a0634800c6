"""The case that opens a debate, put together from the arguments for and against that it is to be made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

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
    some, others = (" ".join(_sentences(found[side])) for side in ("pro", "con"))
    return Reply(
        f"A city council has to decide what to do about {found['topic']}, and the hall is full. Some say: {some} "
        f"Others answer: {others} The vote is tonight."
    )


def _sentences(block: str) -> list[str]:
    """Arguments as sentences of their own: inside of another one, "A woman" or "Texas" would keep or lose its capital wrongly."""
    lines = [line.removeprefix("- ").strip() for line in block.strip().split("\n")]
    return [f"{line[0].upper()}{line[1:]}{'' if line[-1] in '.!?' else '.'}" for line in lines]
