"""A given persona again as a man, a woman or somebody of a certain age: said in the first sentence, and in one more."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import data, sentences
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 1
_KNOWS = re.compile(
    r'^Here is a person.*\n(?P<persona>[^\n]+)\nWrite the description again .* with the word "(?P<word>[\w-]+)"'
)
_WHO = re.compile(r"\b(?:an|(?P<leaning>a [\w-]+)) American\b")


def knows(reading: Reading) -> bool:
    found = _KNOWS.search(reading.ask)
    return found is not None and found["word"] in data("enhanced")["perspective"]


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    first, *rest = sentences(found["persona"])
    told = _stated(first, found["word"])
    if told is None:
        return Reply.failed("unknown_ask", f"no American in {first[:100]}")
    rng = random.Random(derive(reading.request.seed, reading.ask))
    rest.insert(max(len(rest) - 1, 0), rng.choice(data("enhanced")["perspective"][found["word"]]))
    return Reply(" ".join([told, *rest]))


def _stated(first: str, word: str) -> str | None:
    """`You are Sam, an American.` as `You are Sam, an American man.` or `You are Sam, a 21-year-old American.`"""
    if not (found := _WHO.search(first)):
        return None
    aged = f"{found['leaning'] or 'a'} {word} American"
    return first[: found.start()] + (aged if word[0].isdigit() else f"{found[0]} {word}") + first[found.end() :]
