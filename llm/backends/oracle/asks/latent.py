"""Stance and feeling before a reply: the stance, and calm or angry by how far off what was heard last is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import LOST, apart, standing, unknown
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 4
_KNOWS = re.compile(r"\bStance: .*\bFeeling: ", re.S)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    own, gap = standing(reading, oracle), apart(reading, oracle)
    if own is None:
        return unknown(reading)
    feeling = "angry" if gap is not None and gap > LOST else "calm"
    return Reply(f"Stance: {own.line}\nFeeling: I feel {feeling}.", notes=own.notes)
