"""A fact checker's correction: a sentence of the grade that the speaker itself holds to be so, its bias.

Where the mean grade of what was said is at most CLOSE from it, or nothing of it can be read, there is nothing to correct.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.speech import body_of
from parley.llm.backends.oracle.banks import topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 5
CLOSE = 1.0
NOTHING = "Nothing to correct."
_KNOWS = re.compile(r"^Write a correction of what is wrong or unsupported in it\b")


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and reading.topic is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    slug = reading.topic or ""
    bank, bias = topics()[slug], oracle.parameters[slug].bias
    known = [grade for _, text in reading.heard if (grade := bank.grade(text)) is not None]
    if not known or abs(sum(known) / len(known) - bias) <= CLOSE:
        return Reply(NOTHING)
    rng = random.Random(derive(reading.request.seed, reading.heard))
    said = "\n".join(text for _, text in reading.heard)
    (sentence, *_) = body_of(bank, bias, reading, 1, said, rng, 0.0, False) or [""]
    return (
        Reply(sentence) if sentence else Reply.failed("too_few_words", f"no sentence of at most {reading.words} words")
    )
