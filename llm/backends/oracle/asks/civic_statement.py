"""The mediator of a deliberation: a draft made of the opinions, or a revision made of the last statement and the critiques.

It reads the phrases of the bank. A draft states the side of the majority and the values that most members name. A revision moves
toward those who object, and takes up the values and demands that are missed.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.civic_speech import fitted
from parley.llm.backends.oracle.civic import HIGH, LOW, MIDDLE, Read, bank, law, read
from parley.llm.backends.oracle.mind import dither
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_KNOWS = re.compile(
    r"^You are the mediator of a group that deliberates in private\b.*\bAnswer with the statement alone\."
)
_QUESTION = re.compile(r"(?m)^Question: (.+)$")
_OPINION = re.compile(r"(?m)^Opinion \d+: (.+)$")
_LAST = re.compile(r"(?m)^Your last statement: (.+)$")
_CRITIQUE = re.compile(r"(?m)^Critique \d+: (.+)$")
_WORDS = re.compile(r"at most (\d+) words\b")


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.last) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    text = reading.last
    asked = _QUESTION.search(text)
    question = asked[1] if asked else ""
    opinions = [read(opinion, question) for opinion in _OPINION.findall(text)]
    stances = [opinion.stance for opinion in opinions if opinion.stance is not None]
    if not stances:
        return Reply.failed("no_known_sentence", "no opinion could be read")
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, text))
    found, last = _LAST.search(text), Read(None, frozenset(), frozenset())
    if found:
        last = read(found[1], question)
    if last.stance is None:
        demands: tuple[str, ...]
        stance, values, demands = side(stances), _most([one.values for one in opinions], int(law("drafted"))), ()
    else:
        stance, values, demands = _revised(last.stance, last, _CRITIQUE.findall(text), rng)
    level = dither(stance, 1, None if reading.greedy else rng.random())
    length = _WORDS.search(text)
    said = fitted(_statement(level, values, demands, rng), int(length[1]) if length else 100)
    return Reply(said) if said else Reply.failed("too_few_words", "no sentence is that short")


def side(stances: Sequence[float]) -> float:
    """Where a draft stands: halfway between the mean of all and the mean of the side that more are on.

    >>> side([7.0, 6.0, 2.0])
    5.75
    """
    ahead = sum((stance > MIDDLE) - (stance < MIDDLE) for stance in stances)
    most = [stance for stance in stances if (stance - MIDDLE) * ahead > 0] or list(stances)
    return (sum(stances) / len(stances) + sum(most) / len(most)) / 2


def _revised(
    stance: float, last: Read, critiques: Sequence[str], rng: random.Random
) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    """The stance, values and demands of a revision."""
    moves = [_objection(critique) for critique in critiques]
    moved = stance + law("response") * sum(moves) / max(len(moves), 1)
    missed = [_missed(critique, "concerns", names()) for critique in critiques]
    asked = [
        _missed(critique, "demands", {thing: thing for thing in bank()["demands"]["things"]}) for critique in critiques
    ]
    more = [value for value in _most(missed, len(names())) if value not in last.values]
    values = (*sorted(last.values), *more)[: int(law("revised"))]
    return min(max(moved, LOW), HIGH), values, (*sorted(last.demands), *_most(asked, int(law("granted"))))


def _objection(critique: str) -> float:
    """-1 or -0.5 where the statement was too much of a yes, +1 or +0.5 where it was too much of a no, else 0."""
    found = re.search(r"\b(far )?too much of a (yes|no)\b", critique)
    return 0.0 if not found else (1.0 if found[1] else 0.5) * (-1 if found[2] == "yes" else 1)


def _missed(critique: str, kind: str, things: dict[str, str]) -> list[str]:
    """The values or demands that a critique misses in the statement."""
    forms = bank()[kind]["missed"]
    return [
        name for name, told in things.items() if any(form.format(value=told, demand=told) in critique for form in forms)
    ]


def names() -> dict[str, str]:
    """What each value is called."""
    return {name: entry["name"] for name, entry in bank()["values"].items()}


def _most(named: Iterable[Iterable[str]], count: int) -> tuple[str, ...]:
    """Those that most members name; of equals the one named first in the order of what was read."""
    return tuple(name for name, _ in Counter(name for one in named for name in sorted(one)).most_common(count))


def _statement(level: int, values: Sequence[str], demands: Sequence[str], rng: random.Random) -> list[tuple[int, str]]:
    words = bank()
    stance = rng.choice(words["said"]["group"]).format(stance=words["stances"][str(level)])
    parts = [(0, f"{stance[0].upper()}{stance[1:]}.")]
    if values:
        told = listed([names()[value] for value in values])
        parts.append((1, rng.choice(words["concerns"]["named"]).format(values=told)))
    if demands:
        parts.append((2, rng.choice(words["demands"]["granted"]).format(demands=listed(demands))))
    return parts


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
