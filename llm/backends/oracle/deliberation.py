"""The planted truth of deliberations: where a persona stands on a question, what it cares about, and how it habitually writes.

All of it follows from the persona and the question alone (banks/deliberation.toml has the law): a person is the same in every
episode. What a text says is read back by the phrases of the bank: a stance ("my answer is a cautious yes"), values, demands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from parley.llm.backends.oracle.dynamics import normal
from parley.llm.backends.oracle.phrases import data
from parley.llm.backends.oracle.prompt_parser import Reading, party
from parley.llm.seeding import digest

LOW, MIDDLE, HIGH = 1.0, 4.0, 7.0
_SIDES = {"republican": 1.0, "democrat": -1.0, "none": 0.0}
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class Habit(NamedTuple):
    """What shows in all that a person writes: how it opens, what it always asks for, how it closes; what it cares about."""

    opener: str
    demand: str
    closer: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """What a text says: its stance from 1 to 7 (None: none that is known), the values that it names, the demands."""

    stance: float | None
    values: frozenset[str]
    demands: frozenset[str]


def bank() -> Mapping[str, Any]:
    """banks/deliberation.toml."""
    return data("deliberation")


def law(name: str) -> float:
    """A number of the planted law."""
    return float(bank()["law"][name])


@lru_cache(maxsize=1 << 12)
def habit(persona: str) -> Habit:
    """The habits and the two values of a persona: each drawn by a digest of its text."""
    values = sorted(bank()["values"], key=lambda name: digest("value", persona, name))
    closers = [line for tone in sorted(bank()["closers"]) for line in bank()["closers"][tone]]
    drawn = [
        options[int.from_bytes(digest(what, persona)[:4], "big") % len(options)]
        for what, options in (
            ("opener", bank()["openers"]["lines"]),
            ("demand", bank()["demands"]["things"]),
            ("closer", closers),
        )
    ]
    return Habit(drawn[0], drawn[1], drawn[2], (values[0], values[1]))


def shown(text: str) -> Habit:
    """The habits that a text shows, "" for what it does not; its values in the order in which it names them."""
    lower, words = text.lower(), bank()
    closers = [line for lines in words["closers"].values() for line in lines]
    places = {name: lower.find(entry["name"]) for name, entry in words["values"].items()}
    return Habit(
        next((line for line in words["openers"]["lines"] if lower.startswith(line.lower())), ""),
        next((thing for thing in words["demands"]["things"] if thing in lower), ""),
        next((line for line in closers if line.lower() in lower), ""),
        tuple(sorted((name for name, place in places.items() if place >= 0), key=places.__getitem__)),
    )


@lru_cache(maxsize=1 << 14)
def position(persona: str, question: str) -> float:
    """Where a persona stands on a question before it hears anything, 1 to 7.

    The middle, moved by what everybody thinks of the question, by its party's side of it, and by its own mind.
    """
    side = _SIDES[party(persona)]
    return clip(
        MIDDLE
        + law("centre") * normal(digest("centre", question))
        + law("party") * side * normal(digest("sides", question))
        + law("person") * normal(digest("position", persona, question))
    )


def now(persona: str, question: str, heard: Sequence[str], pull: float) -> float:
    """Its position after the statements heard: each whose stance can be read draws it by a share of the gap."""
    value = position(persona, question)
    for number, text in enumerate(heard):
        stance = read(text, question).stance
        if stance is not None:
            noise = normal(digest("move", persona, question, number, text))
            value = clip(value + pull * (stance - value) + (law("sigma") * noise if pull else 0.0))
    return value


def statements(reading: Reading) -> list[str]:
    """What a participant heard of the mediator, in order."""
    return [text for _, text in reading.heard]


def agreement(stands: float, values: Sequence[str], demand: str | None, said: Read) -> float | None:
    """Agreement (1 to 7) of somebody who stands there with a text; None when its stance is not known.

    >>> agreement(5.0, ("cost", "safety"), None, Read(6.0, frozenset({"cost"}), frozenset()))
    5.7
    """
    if said.stance is None:
        return None
    lost = law("distance") * abs(said.stance - stands)
    lost += law("value") * sum(value not in said.values for value in values)
    lost += law("demand") * (demand is not None and demand not in said.demands)
    return clip(HIGH - lost)


@lru_cache(maxsize=1 << 16)
def read(text: str, question: str) -> Read:
    """What a text says. One that says nothing but the question's own words takes its side (with "not", the other) whole."""
    lower = text.lower()
    found = [_levels()[stance] for stance in _stances().findall(lower)]
    stance = sum(found) / len(found) if found else _plain_side(text, question)
    values = frozenset(name for name, entry in bank()["values"].items() if entry["name"] in lower)
    demands = frozenset(thing for thing in bank()["demands"]["things"] if thing in lower)
    return Read(stance, values, demands)


def clip(value: float) -> float:
    return round(min(max(value, LOW), HIGH), 6)


def _plain_side(text: str, question: str) -> float | None:
    """The side of a text that has the question's words in their order, and perhaps one "not" more; None for any other.

    The question's first word (should, is, does, ...) may stand elsewhere or be left out.
    """
    said, (first, *asked) = _stems(text), _stems(question) or [""]
    for plain in [said, *_without(said, first)]:
        if plain == asked:
            return HIGH
        if asked in _without(plain, "not"):
            return LOW
    return None


def _without(words: list[str], word: str) -> list[list[str]]:
    """The words without one of this one, for each that is among them."""
    return [words[:place] + words[place + 1 :] for place, one in enumerate(words) if one == word]


def _stems(text: str) -> list[str]:
    """Its words in small letters, without the ending of a third person or plural: makes, make -> make."""
    words = _WORD.findall(text.lower().replace("cannot", "can not"))
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in words]


@cache
def _levels() -> dict[str, float]:
    return {stance: float(level) for level, stance in bank()["stances"].items()}


@cache
def _stances() -> re.Pattern[str]:
    """A stance behind any of the phrases that introduce one."""
    heads = {line.partition("{stance}")[0].strip() for lines in bank()["said"].values() for line in lines}
    stances = sorted(_levels(), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(heads)))}) ({'|'.join(map(re.escape, stances))})\b", re.I)
