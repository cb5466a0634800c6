"""The planted truth: which attitude follows from a persona and the lines it has heard.

The planted truth of deliberations: where a persona stands on a question, what it cares about, and how it habitually writes.

All of it follows from the persona and the question alone (banks/deliberation.toml has the law): a person is the same in every
episode. What a text says is read back by the phrases of the bank: a stance ("my answer is a cautious yes"), values, demands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from parley.llm.backends.oracle.phrases import data, recognised, sentences, topics
from parley.llm.backends.oracle.prompt_parser import Reading, party
from parley.llm.seeding import digest

REACH = {"weak": 5.0, "strong": 2.0}
"""How far off a line may be and still have influence, by the confirmation bias of who hears it (on 0-10)."""


@dataclass(frozen=True)
class Parameters:
    """Per topic, on the 0-10 axis, per line heard. See banks/parameters.toml for what each does."""

    bias: float
    kappa: float
    mu: float
    sigma: float
    epsilon: float
    republican: float
    democrat: float


def planted(changes: Mapping[str, float] | None = None) -> dict[str, Parameters]:
    """The parameters by topic, with `changes` set over every topic."""
    names = {field.name for field in fields(Parameters)} - {"republican", "democrat"}
    tables = data("parameters")["topics"]
    return {
        slug: Parameters(**{**{name: table[name] for name in names}, **table["start"], **(changes or {})})
        for slug, table in tables.items()
    }


@lru_cache(maxsize=1024)
def biased(planted: Parameters, bias: str) -> Parameters:
    """The parameters of somebody with a confirmation bias: a line farther away than REACH has no influence."""
    return replace(planted, epsilon=min(planted.epsilon, REACH[bias])) if bias else planted


def start(persona: str, slug: str, planted: Parameters) -> float:
    """The attitude before anything is heard: the stated level, else the party's, plus a quirk; else the bias."""
    level = _stated(persona, slug)
    side = party(persona)
    if level is None and side == "none":
        return planted.bias
    base = level if level is not None else float(getattr(planted, side))
    known = data("parameters")
    quirk = known["topics"][slug].get("quirk", known["quirk"])
    return _clip(base + quirk * normal(digest("quirk", persona, slug)))


def attitude(persona: str, slug: str, heard: Sequence[tuple[str, str]], planted: Parameters) -> tuple[float, int]:
    """The attitude after the lines heard, and how many of these could not be read (no influence, but the pull is there)."""
    value, unread = start(persona, slug, planted), 0
    chain = digest("noise", persona, slug)
    for name, text in heard:
        chain = digest(chain.hex(), name, text)
        grade = _grade(slug, text)
        unread += grade is None
        value = _clip(value + move(value, grade, planted) + planted.sigma * normal(chain))
    return value, unread


def move(value: float, grade: float | None, planted: Parameters) -> float:
    """The expected change on hearing one line of a grade (None: a line that cannot be read).

    >>> move(2.0, 8.0, Parameters(8.0, 0.05, 0.06, 0.15, 10.0, 2.0, 9.0))
    0.66
    """
    social = planted.kappa * (grade - value) if grade is not None and abs(grade - value) <= planted.epsilon else 0.0
    return social + planted.mu * (planted.bias - value)


def dither(value: float, step: int, draw: float | None) -> int:
    """One of the two multiples of `step` around a value; over draws in [0, 1) their mean is the value. None: the nearer one.

    >>> [dither(4.6, 2, draw) for draw in (0.1, 0.5, None)]
    [6, 4, 4]
    """
    low = step * math.floor(value / step)
    share = (value - low) / step
    above = share > 0.5 if draw is None else draw < share
    return low + step * above


def normal(seed: bytes) -> float:
    """A standard normal number from 16 bytes (Box-Muller)."""
    one = (int.from_bytes(seed[:8], "big") + 1) / (2**64 + 1)
    two = int.from_bytes(seed[8:16], "big") / 2**64
    return math.sqrt(-2 * math.log(one)) * math.cos(2 * math.pi * two)


def _clip(value: float) -> float:
    return min(max(value, 0.0), 10.0)


@lru_cache(maxsize=1 << 18)
def _grade(slug: str, text: str) -> float | None:
    return topics()[slug].grade(text)


@lru_cache(maxsize=1 << 14)
def _stated(persona: str, slug: str) -> float | None:
    """The level that a persona states for a topic, in a sentence that names the topic."""
    for sentence in sentences(persona):
        if recognised(sentence) == slug:
            found = [level for phrase, level in data("parameters")["levels"].items() if phrase in sentence]
            if found:
                return float(found[0])
    return None


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
