"""The planted truth: which attitude follows from a persona and the lines it has heard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from parley.llm.backends.oracle.phrases import data, recognised, sentences, topics
from parley.llm.backends.oracle.prompt_parser import party
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
