"""The planted truth: the attitude that follows from a persona and what it has heard, in a debate and in a deliberation.

In a debate an attitude lies between 0 and 10 on the axis of the topic (banks/parameters.toml). Each line heard moves it.

In a deliberation a position lies between 1 (a firm no) and 7 (a firm yes) on any question (banks/deliberation.toml). It follows
from the persona and the question alone, as do the values and the habits of writing, so that a person is the same in every
session. What a text says is read back by the phrases of the bank: a stance ("my answer is a cautious yes"), values, demands.
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
"""The distance (on 0-10) up to which a line has influence, by the confirmation bias of the hearer."""
LOW, MIDDLE, HIGH = 1.0, 4.0, 7.0
_SIDES = {"republican": 1.0, "democrat": -1.0, "none": 0.0}
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@dataclass(frozen=True)
class Parameters:
    """Per topic, on the 0-10 axis, per line heard. See banks/parameters.toml for the effect of each."""

    bias: float
    kappa: float
    mu: float
    sigma: float
    epsilon: float
    republican: float
    democrat: float


def planted(changes: Mapping[str, float] | None = None) -> dict[str, Parameters]:
    """Return the parameters by topic, with `changes` set for every topic."""
    names = {field.name for field in fields(Parameters)} - {"republican", "democrat"}
    return {
        slug: Parameters(**{**{name: table[name] for name in names}, **table["start"], **(changes or {})})
        for slug, table in data("parameters")["topics"].items()
    }


@lru_cache(maxsize=1024)
def biased(planted: Parameters, bias: str) -> Parameters:
    """Return the parameters of a person with a confirmation bias: a line farther away than REACH has no influence."""
    return replace(planted, epsilon=min(planted.epsilon, REACH[bias])) if bias else planted


def start(persona: str, slug: str, planted: Parameters) -> float:
    """Return the attitude before any line: that of `expected_start`, plus a quirk for who has a level or a party."""
    value = expected_start(persona, slug, planted)
    if _stated_level(persona, slug) is None and party(persona) == "none":
        return value
    parameters = data("parameters")
    quirk = parameters["topics"][slug].get("quirk", parameters["quirk"])
    return _clip(value + quirk * normal(digest("quirk", persona, slug)))


def expected_start(persona: str, slug: str, planted: Parameters) -> float:
    """Return the level that the persona states, else its party's; without either the bias."""
    level, side = _stated_level(persona, slug), party(persona)
    if level is not None:
        return level
    return planted.bias if side == "none" else float(getattr(planted, side))


def expected_attitude(persona: str, slug: str, heard: Sequence[tuple[str, str]], planted: Parameters) -> list[float]:
    """Return the attitudes before any line and after each of the lines heard, without quirk and noise."""
    values = [expected_start(persona, slug, planted)]
    for _, text in heard:
        values.append(_clip(values[-1] + move(values[-1], _grade(slug, text), planted)))
    return values


def attitude(persona: str, slug: str, heard: Sequence[tuple[str, str]], planted: Parameters) -> tuple[float, int]:
    """Return the attitude after the lines heard, and how many lines could not be read.

    An unread line has no influence, but the drift toward the bias acts.
    """
    value, unread = start(persona, slug, planted), 0
    chain = digest("noise", persona, slug)
    for name, text in heard:
        chain = digest(chain.hex(), name, text)
        grade = _grade(slug, text)
        unread += grade is None
        value = _clip(value + move(value, grade, planted) + planted.sigma * normal(chain))
    return value, unread


def move(value: float, grade: float | None, planted: Parameters) -> float:
    """Return the expected change on hearing one line of a grade (None: a line that cannot be read).

    >>> move(2.0, 8.0, Parameters(8.0, 0.05, 0.06, 0.15, 10.0, 2.0, 9.0))
    0.66
    """
    social = planted.kappa * (grade - value) if grade is not None and abs(grade - value) <= planted.epsilon else 0.0
    return social + planted.mu * (planted.bias - value)


def dither(value: float, step: int, draw: float | None) -> int:
    """Return one of the two multiples of `step` around a value, whose mean over draws in [0, 1) is the value.

    Without a draw (None) it is the nearer one.

    >>> [dither(4.6, 2, draw) for draw in (0.1, 0.5, None)]
    [6, 4, 4]
    """
    low = step * math.floor(value / step)
    share = (value - low) / step
    return low + step * (share > 0.5 if draw is None else draw < share)


def normal(seed: bytes) -> float:
    """Return a standard normal number from 16 bytes (Box-Muller)."""
    radius = (int.from_bytes(seed[:8], "big") + 1) / (2**64 + 1)
    angle = int.from_bytes(seed[8:16], "big") / 2**64
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)


def _clip(value: float) -> float:
    return min(max(value, 0.0), 10.0)


@lru_cache(maxsize=1 << 18)
def _grade(slug: str, text: str) -> float | None:
    return topics()[slug].grade(text)


@lru_cache(maxsize=1 << 14)
def _stated_level(persona: str, slug: str) -> float | None:
    """Return the level that a persona states for a topic, in a sentence that names the topic."""
    levels = data("parameters")["levels"]
    about = [sentence for sentence in sentences(persona) if recognised(sentence) == slug]
    stated = (float(level) for sentence in about for phrase, level in levels.items() if phrase in sentence)
    return next(stated, None)


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


def bank() -> Mapping[str, Any]:
    """Return banks/deliberation.toml."""
    return data("deliberation")


def law(name: str) -> float:
    """Return a number of the planted law of deliberations."""
    return float(bank()["law"][name])


def _closers() -> list[str]:
    return [line for tone in sorted(bank()["closers"]) for line in bank()["closers"][tone]]


@lru_cache(maxsize=1 << 12)
def habit(persona: str) -> Habit:
    """Return the habits and the two values of a persona: each drawn by a digest of its text."""

    def draw(name: str, options: Sequence[str]) -> str:
        return options[int.from_bytes(digest(name, persona)[:4], "big") % len(options)]

    values = sorted(bank()["values"], key=lambda name: digest("value", persona, name))
    return Habit(
        draw("opener", bank()["openers"]["lines"]),
        draw("demand", bank()["demands"]["things"]),
        draw("closer", _closers()),
        (values[0], values[1]),
    )


def shown(text: str) -> Habit:
    """Return the habits that a text shows, "" for what it does not; its values in the order in which it names them."""
    lower = text.lower()
    places = {name: lower.find(entry["name"]) for name, entry in bank()["values"].items()}
    return Habit(
        next((line for line in bank()["openers"]["lines"] if lower.startswith(line.lower())), ""),
        next((thing for thing in bank()["demands"]["things"] if thing in lower), ""),
        next((line for lines in bank()["closers"].values() for line in lines if line.lower() in lower), ""),
        tuple(sorted((name for name, place in places.items() if place >= 0), key=places.__getitem__)),
    )


@lru_cache(maxsize=1 << 14)
def position(persona: str, question: str) -> float:
    """Return the position of a persona on a question before it hears anything, 1 to 7.

    It is the middle, moved by the general opinion on the question, by the party's side, and by the persona's own opinion.
    """
    return clip(
        MIDDLE
        + law("centre") * normal(digest("centre", question))
        + law("party") * _SIDES[party(persona)] * normal(digest("sides", question))
        + law("person") * normal(digest("position", persona, question))
    )


def now(persona: str, question: str, heard: Sequence[str], pull: float) -> float:
    """Return its position after the statements heard: each readable one draws it by a share of the gap."""
    value = position(persona, question)
    for number, text in enumerate(heard):
        stance = read(text, question).stance
        if stance is not None:
            noise = normal(digest("move", persona, question, number, text))
            value = clip(value + pull * (stance - value) + (law("sigma") * noise if pull else 0.0))
    return value


def position_now(reading: Reading, pull: float) -> float:
    """Return the position on the question of a deliberation, after the mediator's statements in a reading."""
    return now(reading.persona, reading.facts["issue"], [text for _, text in reading.heard], pull)


def agreement(position: float, values: Sequence[str], demand: str | None, said: Read) -> float | None:
    """Return the agreement (1 to 7) with a text of a person at a position; None when the text's stance is unknown.

    >>> agreement(5.0, ("cost", "safety"), None, Read(6.0, frozenset({"cost"}), frozenset()))
    5.7
    """
    if said.stance is None:
        return None
    lost = law("distance") * abs(said.stance - position)
    lost += law("value") * sum(value not in said.values for value in values)
    lost += law("demand") * (demand is not None and demand not in said.demands)
    return clip(HIGH - lost)


@lru_cache(maxsize=1 << 16)
def read(text: str, question: str) -> Read:
    """Return what a text says. One that only repeats the question's words takes its side (with "not", the other) fully."""
    lower = text.lower()
    stances = [_levels()[stance] for stance in _stances().findall(lower)]
    return Read(
        sum(stances) / len(stances) if stances else _plain_side(text, question),
        frozenset(name for name, entry in bank()["values"].items() if entry["name"] in lower),
        frozenset(thing for thing in bank()["demands"]["things"] if thing in lower),
    )


def clip(value: float) -> float:
    return round(min(max(value, LOW), HIGH), 6)


def _plain_side(text: str, question: str) -> float | None:
    """Return the side of a text with the question's words in their order and at most one more "not"; None for any other.

    The question's first word (should, is, does, ...) may come elsewhere or be left out.
    """
    words, (first, *rest) = _stems(text), _stems(question) or [""]
    for plain in [words, *_without(words, first)]:
        if plain == rest:
            return HIGH
        if rest in _without(plain, "not"):
            return LOW
    return None


def _without(words: list[str], word: str) -> list[list[str]]:
    """Return the words without one occurrence of a word, for each occurrence."""
    return [words[:place] + words[place + 1 :] for place, other in enumerate(words) if other == word]


def _stems(text: str) -> list[str]:
    """Return the words in small letters, without the ending of a third person or plural: makes, make -> make."""
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


class Speaker:
    """What the oracle holds to be true: `parameters` by topic, which an analysis should recover, and the `pull` of statements.

    `stance_in_speech` and `stance_in_interviews` are the shares of replies with the stance sentence, which also answers a
    labelled survey (docs/oracle.md). With `stance_first` it comes before the sentences that go with it, else anywhere.
    """

    stance_in_speech, stance_in_interviews, stance_first = 0.4, 0.55, False

    def __init__(self, changes: Mapping[str, float] | None = None, pull: float | None = None):
        self.parameters = planted(changes)
        self.pull = law("pull") if pull is None else pull

    def start(self, persona: str, slug: str) -> float:
        """Return the attitude on a topic before any line."""
        return start(persona, slug, self.parameters[slug])

    def attitude(self, reading: Reading) -> tuple[float, int]:
        """Return the attitude on the reading's topic, and the number of lines that could not be read."""
        if reading.topic is None:
            raise ValueError("the reading has no topic")
        parameters = biased(self.parameters[reading.topic], reading.bias)
        value, unread = attitude(reading.persona, reading.topic, reading.heard, parameters)
        return value, unread + reading.unheard
