"""A participant of a private deliberation: its opinion on the question, or its critique of the mediator's statement."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.civic import MIDDLE, Habit, Read, bank, habit, law, now, read
from parley.llm.backends.oracle.mind import dither
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_QUESTION = re.compile(r"\bdeliberat.*\bmediator\b.*\bThe question is: (?P<question>.+)$")
_OPINION = re.compile(r"^Write your opinion\b.*\bmediator\b")
_CRITIQUE = re.compile(r"^The mediator has written\b.*\bWrite your critique\b")


def question_of(reading: Reading) -> str | None:
    """The question of a private deliberation, from its opening; None in any other conversation."""
    found = _QUESTION.search(reading.opening)
    return found["question"] if found else None


def statements(reading: Reading) -> list[str]:
    """What the mediator said, in order."""
    return [text for _, text in reading.heard]


def knows(reading: Reading) -> bool:
    asked = _OPINION.search(reading.ask) or _CRITIQUE.search(reading.ask)
    return asked is not None and question_of(reading) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    question, heard = question_of(reading) or "", statements(reading)
    stands = now(reading.persona, question, heard, oracle.pull)
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, question, len(heard)))
    if _OPINION.search(reading.ask):
        parts = _opinion(reading, stands, rng)
    else:
        said = read(heard[-1], question) if heard else Read(None, frozenset(), frozenset())
        if said.stance is None:
            return Reply.failed("no_known_sentence", heard[-1][:120] if heard else "no statement")
        parts = critique(habit(reading.persona), said.stance - stands, said, rng)
    text = fitted(parts, reading.words)
    return (
        Reply(text) if text else Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")
    )


def _opinion(reading: Reading, stands: float, rng: random.Random) -> list[tuple[int, str]]:
    """Opener and stance, a reason for each value, the demand, the closer: each with how much it matters (lowest first)."""
    own, words = habit(reading.persona), bank()
    level = dither(stands, 1, None if reading.greedy else rng.random())
    stance = rng.choice(words["said"]["own"]).format(stance=words["stances"][str(level)])
    side = "yes" if stands > MIDDLE else "no"
    reasons = [rng.choice(words["values"][value][side]) for value in own.values]
    demand = rng.choice(words["demands"]["asked"]).format(demand=own.demand)
    return [(0, f"{own.opener} {stance}."), *[(3, reason) for reason in reasons], (1, demand), (2, own.closer)]


def critique(own: Habit, apart: float, said: Read, rng: random.Random) -> list[tuple[int, str]]:
    """Opener and verdict, what is said of each value and of the demand, the closer. `apart`: statement minus position."""
    words = bank()
    side = "yes" if apart > 0 else "no"
    kind = "right" if abs(apart) <= law("near") else f"far_{side}" if abs(apart) > law("far") else side
    lines = [(0, f"{own.opener} {rng.choice(words['verdicts'][kind])}.".strip())]
    for value in own.values:
        concern = rng.choice(words["concerns"]["met" if value in said.values else "missed"])
        lines.append((3, concern.format(value=words["values"][value]["name"])))
    demand = rng.choice(words["demands"]["met" if own.demand in said.demands else "missed"])
    asked = [(1, demand.format(demand=own.demand))] if own.demand else []
    return [*lines, *asked, *([(2, own.closer)] if own.closer else [])]


def fitted(parts: list[tuple[int, str]], words: int) -> str:
    """The sentences that fit into the words asked for, what matters most first, in their own order; "" when none does."""
    room, kept = words, set[int]()
    for _, place in sorted((rank, place) for place, (rank, _) in enumerate(parts)):
        length = len(parts[place][1].split())
        if length <= room:
            kept.add(place)
            room -= length
        elif not kept:
            return ""
    return " ".join(text for place, (_, text) in enumerate(parts) if place in kept)
