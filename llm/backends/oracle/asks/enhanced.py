"""An enhanced persona, written to a prompt that gives name, leaning, place and news."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import data
from parley.llm.backends.oracle.reading import Reading, party
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 1
_KNOWS = re.compile(
    r'"(?P<who>You are [^",\n]+, (?P<leaning>an? [^"]+?)\.)".* lives in (?P<location>[A-Z][a-z]+)'
    r".* news they trust, which is (?P<news>[^.;]+)\."
)


def knows(reading: Reading) -> bool:
    return reading.ask.startswith("Invent a ") and _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    rng = random.Random(derive(reading.request.seed, reading.ask))
    bank = data("enhanced")
    side = bank[party(found["leaning"])]
    background, career, news = [rng.choice(bank[kind]) for kind in ("background", "career", "news")]
    event, belief, conflict = [rng.choice(side[kind]) for kind in ("event", "belief", "conflict")]
    home, told = background.format(location=found["location"]), news.format(news=found["news"])
    return Reply(" ".join([found["who"], home, f"{career}, and {event}", belief, conflict, told]))
