"""Moves of games and expectations, by the law of law.py, from the facts of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest

from .law import IMPOSED, OUTSIDE, REFUSED, whole_numbers

if TYPE_CHECKING:
    from .players import GameFacts

TEN = tuple(range(11))


def answer_move(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a move, with the exact probability of each."""
    facts, law = cast("GameFacts", reading.facts), speaker.laws.of("games")
    if any(name not in facts for name in ("move", "left", "announced", "received")):
        return unknown(reading)
    kind, reflected = facts["move"], facts.get("reflected", False)
    if kind == "offer":
        shares = law.weights(facts["points"], reflected)
    elif kind == "response":
        refusing = IMPOSED if facts["left"] <= 1 else REFUSED
        shares = law.weights([facts["points"][facts["offered"] - 1], refusing, OUTSIDE], reflected)
    else:
        mean = law.move(_level(reading, speaker), facts["received"], facts["announced"], facts["left"])
        shares = [mean / 10, 1 - mean / 10] if kind == "choice" else whole_numbers(mean, TEN)
    return _chosen(reading, shares)


def answer_expectation(reading: Reading, speaker: Speaker) -> Reply:
    """Answer what the person expects itself, or others, to do."""
    if "about" not in reading.facts:
        return unknown(reading)
    return _chosen(reading, whole_numbers(speaker.laws.of("games").statement(_level(reading, speaker)), TEN))


def _level(reading: Reading, speaker: Speaker) -> float:
    facts = cast("GameFacts", reading.facts)
    level: float = speaker.laws.of("games").person_level(
        normal(digest("game", reading.persona, facts["game"])), facts.get("imposed")
    )
    return level


def _chosen(reading: Reading, shares: list[float]) -> Reply:
    if len(shares) != len(reading.request.answers):
        return unknown(reading)
    reply = Reply(None)
    set_choice(reply, reading.request, shares)
    return reply
