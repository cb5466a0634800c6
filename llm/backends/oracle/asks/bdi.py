"""Belief, desire and intention: the stance, what is wanted by how firm it is, what is intended by what was heard last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import LOST, apart, standing, unknown
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 4
FIRM = 0.75
"""The conviction from which on it wants to win the others over: an attitude of 2.5 or less, or 7.5 or more."""
_KNOWS = re.compile(r"\bBelief: .*\bDesire: .*\bIntention: ", re.S)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    own = standing(reading, oracle)
    if own is None:
        return unknown(reading)
    desire = "the others to see it as I do" if own.conviction >= FIRM else "to learn what the others know"
    return Reply(
        f"Belief: {own.line}\nDesire: I want {desire}.\nIntention: {intention(reading, oracle)}", notes=own.notes
    )


def intention(reading: Reading, oracle: Oracle) -> str:
    """To say where it stands when nothing was heard, else to agree or to disagree with who spoke last."""
    gap = apart(reading, oracle)
    if gap is None:
        return "I will say where I stand."
    return f"I will {'disagree with' if gap > LOST else 'agree with'} {reading.heard[-1][0]}."
