"""What somebody says whose role is named when it is asked: news that changes as it goes round, and arguments of five strengths.

It stands at a, and the last line that it heard and can read has the grade h (a, where there is none). Mean grade of what it says:

    spreader      h: it passes on what it heard
    commentator   h + 0.5 (a - h): half of it is what it makes of it
    verifier      a + 0.5 (bias - a): half-way to what the speaker itself holds to be so
    bystander     a, in one sentence
    convincer     a + w (end - a), the end of the axis to which it leans, w by its argument: knowledge 0.8, trust 0.6,
                  support 0.4, status 0.2 (without an argument it says what it thinks, as anybody)

All of it is planted. A role moves nobody's own attitude; what is said in it moves those who hear it, by the law of mind.py.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.speech import body_of, compose
from parley.llm.backends.oracle.banks import recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 38
HALF = 0.5
WAYS = {"knowledge": 0.8, "trust": 0.6, "support": 0.4, "status": 0.2}
"""How far a convincer goes from where it stands to the end of its side, by the argument that it is asked for."""
_ROLES = {
    "spreader": re.compile(r"\bPass on in your own words what struck you\b"),
    "commentator": re.compile(r"\badd what you make of it\b"),
    "verifier": re.compile(r"\bSay what of the things said last is right\b"),
    "bystander": re.compile(r"\bSay no more than one short sentence\b"),
    "knowledge": re.compile(r"\bArgue by giving the others something to know\b"),
    "trust": re.compile(r"\bArgue by showing that the others can rely on your word\b"),
    "support": re.compile(r"\bArgue by standing by the one you answer\b"),
    "status": re.compile(r"\bArgue by giving the one you answer credit\b"),
}
_CONVINCES = re.compile(r"\bAddress what still keeps the others from agreeing with you\b")


def role(ask: str) -> str | None:
    """Which of these roles, or which argument of a convincer, an ask names; None for any other."""
    found = next((name for name, told in _ROLES.items() if told.search(ask)), None)
    return None if found in WAYS and not _CONVINCES.search(ask) else found


def knows(reading: Reading) -> bool:
    return role(reading.ask) is not None and recognised(reading.opening) is not None


def said(name: str, own: float, heard: float | None, bias: float) -> float:
    """The mean grade of what is said in a role.

    >>> [said(name, 2.0, 8.0, 5.0) for name in ("spreader", "commentator", "verifier", "bystander")]
    [8.0, 5.0, 3.5, 2.0]
    """
    told = own if heard is None else heard
    end = 10.0 if own >= 5 else 0.0
    way = WAYS.get(name, 0.0)
    grades = {"spreader": told, "commentator": told + HALF * (own - told), "verifier": own + HALF * (bias - own)}
    return grades.get(name, own + way * (end - own))


def answer(reading: Reading, oracle: Oracle) -> Reply:
    name, slug = role(reading.ask) or "", reading.topic or ""
    own, unread = oracle.attitude(reading)
    grades = [grade for _, text in reading.heard if (grade := topics()[slug].grade(text)) is not None]
    value = said(name, own, grades[-1] if grades else None, oracle.parameters[slug].bias)
    messages = [(message.role, message.content) for message in reading.request.messages]
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, messages))
    if name == "bystander":
        before = "\n".join([*reading.own, *[text for _, text in reading.heard]])
        text: str | None = " ".join(body_of(topics()[slug], value, reading, 1, before, rng, 0.0, False)[:1]) or None
    else:
        text = compose(reading, value, rng, oracle)
    if text is None:
        return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    return Reply(text, notes={"unread": unread} if unread else {})
