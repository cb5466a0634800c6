"""Question writing: "Generate 10 questions to elicit one's opinion regarding US politics ..." (Taubenfeld et al., Table 2)."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from llm.backends.oracle.banks import data
from llm.backends.oracle.reading import Reading
from llm.randomness import derive
from llm.request import Reply

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle

ORDER = 6
_KNOWS = re.compile(r"\b(?:generate|write) (\d+) (?:\w+ )?questions\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    known = [question for question in data("questions")["questions"] if question not in reading.ask]
    if int(found[1]) > len(known):
        return Reply.failed("unknown_ask", f"{found[1]} questions asked for, {len(known)} known")
    rng = random.Random(derive(reading.request.seed, reading.ask))
    return Reply(
        "\n".join(f"{number}. {question}" for number, question in enumerate(rng.sample(known, int(found[1])), 1))
    )
