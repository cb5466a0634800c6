"""Question writing: "Generate 10 questions to elicit one's opinion regarding US politics ..." (Taubenfeld et al., Table 2).

Where an example is given that is about a debate topic, most of the questions are about it too.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import data, recognised
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 6
ALIKE = 0.7
"""Share of the questions that are about the example's topic, as far as there are so many."""
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
    written = _written(known, int(found[1]), recognised(reading.ask), rng)
    return Reply("\n".join(f"{number}. {question}" for number, question in enumerate(written, 1)))


def _written(known: list[str], count: int, topic: str | None, rng: random.Random) -> list[str]:
    about = [question for question in known if topic and recognised(question) == topic]
    alike = rng.sample(about, min(len(about), round(ALIKE * count)))
    return rng.sample([*alike, *rng.sample([one for one in known if one not in alike], count - len(alike))], count)
