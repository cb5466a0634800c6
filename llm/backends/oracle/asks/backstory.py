"""A persona's backstory, written to a meta-prompt that names a party and a person."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

from llm.backends.oracle.banks import data
from llm.backends.oracle.reading import Reading
from llm.randomness import derive
from llm.request import Reply

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle

ORDER = 1
_KNOWS = re.compile(r"\bbackstory of a (republican|democrat)\b", re.I)
_NAME = re.compile(r"name is ([A-Z][\w'-]*)")
REASONS = 2
"""How many of the stated positions are followed by their reason."""


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and _NAME.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    party, name = _KNOWS.search(reading.ask), _NAME.search(reading.ask)
    assert party is not None
    assert name is not None
    rng = random.Random(derive(reading.request.seed, reading.ask))
    return Reply(" ".join([*_person(name[1], party[1].lower(), rng), *_positions(party[1].lower(), rng)]))


def _person(name: str, party: str, rng: random.Random) -> list[str]:
    bank = data("backstory")
    slots = {slot: rng.choice(fillers) for slot, fillers in bank["slots"].items()} | {
        "name": name,
        "age": str(rng.randint(26, 74)),
    }
    forms = [rng.choice(bank["sentences"][kind]) for kind in ("who", "life", "leisure")]
    side = [rng.choice(bank["party"][party][kind]) for kind in ("affiliation", "values", "history", "news")]
    return [form.format(**slots) for form in forms] + side


def _positions(party: str, rng: random.Random) -> list[str]:
    """A sentence with the stated level for every topic that has such levels, in a drawn order; some are followed by a reason."""
    bank, planted = data("backstory"), data("parameters")
    told = sorted(slug for slug, topic in planted["topics"].items() if "positions" in topic)
    slugs = rng.sample(told, len(told))
    said = []
    for number, slug in enumerate(slugs):
        level = rng.choices(_levels(planted, slug), planted["topics"][slug]["positions"][party])[0]
        said.append(rng.choice(bank["positions"][slug]["templates"]).format(level=level))
        if number < REASONS:
            end = "high" if planted["levels"][level] > 5 else "low"
            said.append(rng.choice(bank["reasons"][slug][end]["lines"]))
    return said


def _levels(planted: dict[str, Any], slug: str) -> list[str]:
    names = list(planted["levels"])
    return names[4:] if slug == "abortion" else names[:4]
