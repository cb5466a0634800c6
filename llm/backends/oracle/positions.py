"""The planted law of deliberations: the position from a persona, a question and the statements heard.

A position lies between 1 (a firm no) and 7 (a firm yes) on any question (banks/<code>/deliberation.toml). It follows from the
persona and the question alone, as do the values and the habits of writing, so that a person is the same in every session.
What a text says is read back by the phrases of the bank: a stance ("my answer is a cautious yes"), values, demands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.phrases import Banks, changed
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.seeding import digest

LOW, MIDDLE, HIGH = 1.0, 4.0, 7.0
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class Habit(NamedTuple):
    """What all texts of a person show: how it opens, what it always asks for, how it closes; and the values it cares about."""

    opener: str
    demand: str
    closer: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """What a text says: its stance from 1 to 7 (None: unknown), the values that it names, the demands."""

    stance: float | None = None
    values: frozenset[str] = frozenset()
    demands: frozenset[str] = frozenset()


def _closers(banks: Banks) -> list[str]:
    closers = banks.deliberation["closers"]
    return [line for tone in sorted(closers) for line in closers[tone]]


@lru_cache(maxsize=1 << 12)
def habit(banks: Banks, persona: str) -> Habit:
    """Return the habits and the two values of a persona: each drawn by a digest of its text."""

    def draw(name: str, options: Sequence[str]) -> str:
        return options[int.from_bytes(digest(name, persona)[:4], "big") % len(options)]

    values = sorted(banks.deliberation["values"], key=lambda name: digest("value", persona, name))
    return Habit(
        draw("opener", banks.deliberation["openers"]["lines"]),
        draw("demand", banks.deliberation["demands"]["things"]),
        draw("closer", _closers(banks)),
        (values[0], values[1]),
    )


def shown(banks: Banks, text: str) -> Habit:
    """Return the habits that a text shows, "" for what it does not; its values in the order in which it names them."""
    lower = text.lower()
    places = {name: lower.find(entry["name"]) for name, entry in banks.deliberation["values"].items()}
    return Habit(
        next((line for line in banks.deliberation["openers"]["lines"] if lower.startswith(line.lower())), ""),
        next((thing for thing in banks.deliberation["demands"]["things"] if thing in lower), ""),
        next((line for lines in banks.deliberation["closers"].values() for line in lines if line.lower() in lower), ""),
        tuple(sorted((name for name, place in places.items() if place >= 0), key=places.__getitem__)),
    )


@lru_cache(maxsize=1 << 14)
def position(banks: Banks, persona: str, question: str, leaning: float = 0.0) -> float:
    """Return the position of a persona on a question before it hears anything, 1 to 7.

    It is the general opinion on the question, moved by the party's side and by the persona's own opinion. leaning: the share of
    these two moves in whose place is a move that is the same on all questions (people_laws.py).
    """
    party = banks.law("party") * (banks.sides.get(banks.party(persona)) or 0.0) * normal(digest("sides", question))
    deviation = party + banks.law("person") * normal(digest("position", persona, question))
    if leaning:
        spread = math.hypot(banks.law("party"), banks.law("person"))
        deviation = (1 - leaning) * deviation + leaning * spread * normal(digest("leaning", persona))
    return clip(general_position(banks, question) + deviation)


def general_position(banks: Banks, question: str) -> float:
    """Return what people of no party think of a question on average, 1 to 7."""
    return MIDDLE + banks.law("centre") * normal(digest("centre", question))


def now(banks: Banks, persona: str, question: str, heard: Sequence[str], pull: float, leaning: float = 0.0) -> float:
    """Return its position after the statements heard: each readable one draws it by a share of the gap."""
    value = position(banks, persona, question, leaning)
    for number, text in enumerate(heard):
        stance = read(banks, text, question).stance
        if stance is not None:
            noise = normal(digest("move", persona, question, number, text))
            value = clip(value + pull * (stance - value) + (banks.law("sigma") * noise if pull else 0.0))
    return value


def position_now(reading: Reading, speaker: Speaker) -> float:
    """Return the position on the question of a deliberation, after the mediator's statements in a reading."""
    heard, leaning = [text for _, text in reading.heard], speaker.laws.representation.leaning
    return now(reading.banks, reading.persona, reading.facts["issue"], heard, speaker.pull, leaning)


def agreement(banks: Banks, position: float, values: Sequence[str], demand: str | None, content: Read) -> float | None:
    """Return the agreement (1 to 7) with a text of a person at a position; None when the text's stance is unknown.

    >>> from parley.llm.backends.oracle.phrases import banks
    >>> agreement(banks(), 5.0, ("cost", "safety"), None, Read(6.0, frozenset({"cost"}), frozenset()))
    5.7
    """
    if content.stance is None:
        return None
    lost = banks.law("distance") * abs(content.stance - position)
    lost += banks.law("value") * sum(value not in content.values for value in values)
    lost += banks.law("demand") * (demand is not None and demand not in content.demands)
    return clip(HIGH - lost)


@lru_cache(maxsize=1 << 16)
def read(banks: Banks, text: str, question: str) -> Read:
    """Return what a text says. One that only repeats the question's words takes its side (with "not", the other) fully."""
    lower = text.lower()
    stances = [_levels(banks)[stance] for stance in _stances(banks).findall(lower)]
    return Read(
        sum(stances) / len(stances) if stances else _plain_side(banks, text, question),
        frozenset(name for name, entry in banks.deliberation["values"].items() if entry["name"] in lower),
        frozenset(thing for thing in banks.deliberation["demands"]["things"] if thing in lower),
    )


def clip(value: float) -> float:
    return round(min(max(value, LOW), HIGH), 6)


def _plain_side(banks: Banks, text: str, question: str) -> float | None:
    """Return the side of a text with the question's words in their order and at most one more negation; None for any other.

    The question's first word (should, is, does, ...) may come elsewhere or be left out.
    """
    (first, *rest), lower = _stems(banks, question) or [""], text.lower()
    if rest in _without(_stems(banks, lower), first):
        return HIGH
    return LOW if any(rest in _without(_stems(banks, other), first) for other in _affirmed(banks, lower)) else None


def _affirmed(banks: Banks, text: str) -> list[str]:
    """Return a text in small letters without one of its negations, for each of them and each way to leave it out."""
    text = changed(text, banks.changes("spelling"))
    return [
        f"{text[: place.start()]}{form}{text[place.end() :]}"
        for pattern, form in banks.changes("negations")
        for place in pattern.finditer(text)
    ]


def _without(words: list[str], word: str) -> list[list[str]]:
    """Return the words, and the words without one occurrence of a word, for each occurrence."""
    return [words, *[words[:place] + words[place + 1 :] for place, other in enumerate(words) if other == word]]


def _stems(banks: Banks, text: str) -> list[str]:
    """Return the words in small letters, without the endings of person and number: makes, make -> make."""
    words = _WORD.findall(changed(text.lower(), banks.changes("spelling")))
    return [changed(word, banks.changes("stems")) for word in words]


@cache
def _levels(banks: Banks) -> dict[str, float]:
    return {stance: float(level) for level, stance in banks.deliberation["stances"].items()}


@cache
def _stances(banks: Banks) -> re.Pattern[str]:
    """A stance behind any of the phrases that introduce one."""
    heads = {line.partition("{stance}")[0].strip() for lines in banks.deliberation["said"].values() for line in lines}
    stances = sorted(_levels(banks), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(heads)))}) ({'|'.join(map(re.escape, stances))})\b", re.I)
