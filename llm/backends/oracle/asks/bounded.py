"""A few words to oneself before a reply: the stance and the intention, as far as they fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.bdi import intention
from parley.llm.backends.oracle.asks.civic_speech import fitted
from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import standing, unknown
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 4
_KNOWS = re.compile(r"\bthink it over for yourself\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    own = standing(reading, oracle)
    if own is None:
        return unknown(reading)
    text = fitted([(0, own.line), (1, intention(reading, oracle))], reading.words)
    if not text:
        return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    return Reply(text, notes=own.notes)
