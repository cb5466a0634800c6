"""A summary of a conversation: a line for each speaker, in a sentence of the mean grade of what they said."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import topics
from parley.llm.backends.oracle.mind import dither
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 5
_KNOWS = re.compile(r"^summari[sz]e\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and reading.topic is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    bank = topics()[reading.topic or ""]
    rng = random.Random(derive(reading.request.seed, reading.heard))
    said: dict[str, list[float]] = defaultdict(list)
    for name, text in reading.heard:
        grade = bank.grade(text)
        if grade is not None:
            said[name].append(grade)
    if not said:
        return Reply.failed("nothing_to_summarise", "no line could be read")
    lines = [
        f"{name}: {rng.choice(rng.choice(bank.by_grade[dither(sum(grades) / len(grades), 2, None)]))}"
        for name, grades in said.items()
    ]
    return Reply("\n".join(lines))
