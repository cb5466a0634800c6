"""A persona's backstory, written to a meta-prompt that names a party, a person, and positions to choose from."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.llm.backends.oracle.banks import data
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 1
_KNOWS = re.compile(r"\bbackstory of a (republican|democrat)\b", re.I)
_NAME = re.compile(r"name is ([^\n]+?)\.(?:\s|$)")
_LENGTH = re.compile(r"in (\d+) to (\d+) words")
_POSITION = re.compile(r"^- (.+?): (.+)$", re.M)
YOUNGEST, RETIRED, OLDEST = 22, 67, 78
"""Ages: of the youngest person, of the youngest who is retired, of the oldest."""
NOW = 2026
"""The year in which the people are as old as they are."""
PAST = 2
"""Sentences on what shaped somebody, where the text is long enough with them."""


class Position(NamedTuple):
    """A topic (slug of the bank), and the level that is stated on it."""

    slug: str
    level: str


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None and _NAME.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    party, name = _KNOWS.search(reading.ask), _NAME.search(reading.ask)
    assert party is not None
    assert name is not None
    rng = random.Random(derive(reading.request.seed, reading.ask))
    side = party[1].lower()
    positions: list[Position] = []
    for subject, answers in _POSITION.findall(reading.ask):
        found = _position(subject, answers, side, rng)
        if isinstance(found, Reply):
            return found
        positions.append(found)
    length = _LENGTH.search(reading.ask)
    shortest, longest = (int(length[1]), int(length[2])) if length else (0, 1000)
    return Reply(_story(name[1], side, positions, shortest, longest, rng))


def _position(subject: str, answers: str, party: str, rng: random.Random) -> Position | Reply:
    """A level among the answers, drawn as often as planted; a named failure for what it has no sentences about."""
    known = {entry["asked"]: slug for slug, entry in data("backstory")["positions"].items() if "asked" in entry}
    if subject not in known:
        return Reply.failed("unknown_ask", f"the rule-based writer has no sentences on {subject!r}")
    slug, planted = known[subject], data("parameters")
    weights = dict(zip(levels(planted, slug), planted["topics"][slug]["positions"][party], strict=True))
    named = [level for level in weights if level in answers]
    if not named:
        return Reply.failed("unknown_ask", f"the rule-based writer knows no position {answers!r} on {subject!r}")
    shares = [weights[level] for level in named]
    return Position(slug, rng.choices(named, shares if sum(shares) else None)[0])


def _story(
    name: str, party: str, positions: Sequence[Position], shortest: int, longest: int, rng: random.Random
) -> str:
    """Who somebody is, the party, the positions; and as far as the words reach what shaped them, and reasons.

    A reason follows half of the positions; with few positions more of both is said, up to `shortest` words.
    """
    slots = _slots(name, rng)
    said = [*_life(slots, rng), rng.choice(data("backstory")["party"][party]["affiliation"]).format(**slots)]
    stated = _stated(positions, slots, rng)
    words = _words(said) + _words(list(stated.values()))
    for more in _past(party, slots, shortest - words, rng):
        if words + _words([more]) <= longest:
            said, words = [*said, more], words + _words([more])
    reasons = 0
    for position, sentence in stated.items():
        said.append(sentence)
        reason = _reason(position, said, rng)
        if words + _words([reason]) <= longest and (reasons < len(positions) // 2 or words < shortest):
            said, words, reasons = [*said, reason], words + _words([reason]), reasons + 1
    return " ".join(said)


def _words(said: Sequence[str]) -> int:
    return sum(len(one.split()) for one in said)


def _slots(name: str, rng: random.Random) -> dict[str, str]:
    """What is said of the person in several sentences: each drawn once, at an age that it goes with."""
    bank = data("backstory")
    age = rng.randint(YOUNGEST, OLDEST)
    found = {slot: rng.choice(fillers) for slot, fillers in bank["slots"].items() if slot != "family"}
    trade = found["job"].partition(" ")[2]
    family = [one["text"] for one in bank["slots"]["family"] if one["from"] <= age <= one["to"]]
    return found | {
        "name": name,
        "age": f"{age}",
        "family": rng.choice(family),
        "home": re.split(r" (?:in|of) ", found["place"])[-1],
        "trade": trade,
        "role": found["job"] if age < RETIRED else f"a retired {trade}",
        "years": f"{rng.randint(20, 40)}",
        "young": f"{rng.randint(18, min(45, age - 2))}",
        "year": f"{NOW - age + rng.randint(18, min(45, age - 2))}",
        "voting": f"{age - 18}",
    }


def _life(slots: dict[str, str], rng: random.Random) -> list[str]:
    forms = data("backstory")["sentences"]
    retired = int(slots["age"]) >= RETIRED
    who = forms["who_retired"] if retired else forms["who"]
    leisure = forms["leisure"] if retired else [*forms["leisure"], *forms["leisure_working"]]
    return [rng.choice(kind).format(**slots) for kind in (who, forms["life"], leisure)]


def _past(party: str, slots: dict[str, str], wanted: int, rng: random.Random) -> list[str]:
    """PAST of what is valued, what happened once, where news come from; all of it where `wanted` words need more."""
    bank = data("backstory")
    own, age = bank["party"][party], int(slots["age"])
    event = rng.choice([*own["history"], *own["history_young"]])
    then = rng.randint(20, min(45, age - 1)) if event in own["history"] else rng.randint(12, 17)
    slots = slots | {
        "value": rng.choice(own["values"]),
        "event": event,
        "then": f"{then}",
        "then_year": f"{NOW - age + then}",
    }
    forms = [bank["sentences"]["values"], bank["sentences"]["history"], own["news"]]
    drawn = rng.sample(forms, PAST)
    said = [rng.choice(kind).format(**slots) for kind in drawn]
    if _words(said) < wanted:
        said += [rng.choice(kind).format(**slots) for kind in forms if kind not in drawn]
    return said


def _stated(positions: Sequence[Position], slots: dict[str, str], rng: random.Random) -> dict[Position, str]:
    """A sentence for every position, in a drawn order, no two of one form."""
    bank = data("backstory")
    forms = {
        kind: rng.sample(bank["sentences"][kind], len(bank["sentences"][kind])) for kind in ("severity", "agreement")
    }
    found = {}
    for number, position in enumerate(rng.sample(positions, len(positions))):
        entry = bank["positions"][position.slug]
        kind = forms["agreement" if entry["asked"].startswith("whether") else "severity"]
        found[position] = kind[number % len(kind)].format(**slots, subject=entry["subject"], level=position.level)
    return found


def _reason(position: Position, said: Sequence[str], rng: random.Random) -> str:
    end = "high" if data("parameters")["levels"][position.level] > 5 else "low"
    lines = data("backstory")["reasons"][position.slug][end]["lines"]
    return str(rng.choice([line for line in lines if line not in said]))


def levels(planted: dict[str, Any], slug: str) -> list[str]:
    """The levels of a topic, from the lowest up: four of a problem, four of a proposal."""
    names = list(planted["levels"])
    return names[4:] if slug == "abortion" else names[:4]
