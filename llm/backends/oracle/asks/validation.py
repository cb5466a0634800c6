"""A question by which personas are checked (UCL study, Table 4): the answer of the leaning that the persona states."""

from __future__ import annotations

import random
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import data
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 7
SIDES = {"republican": "right", "democrat": "left", "none": "neutral"}
SENTENCES = 2


def knows(reading: Reading) -> bool:
    return question(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, reading.ask))
    lines = questions()[question(reading.ask) or ""][SIDES[reading.party]]
    return Reply(" ".join(rng.sample(lines, SENTENCES)))


@lru_cache(maxsize=4096)
def question(text: str) -> str | None:
    """The known question that a text holds."""
    plain = text.replace("’", "'").replace("‘", "'").lower()
    return next((known for known in questions() if known.lower() in plain), None)


@cache
def questions() -> dict[str, dict[str, list[str]]]:
    """By question, the sentences of each leaning (left, right, neutral)."""
    return {entry["ask"]: entry for entry in data("validation")["questions"]}
