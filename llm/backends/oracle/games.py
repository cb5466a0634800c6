"""Moves of games and expectations, by the law of game_law.py, from the facts of a request; and private notes before a move."""

from __future__ import annotations

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.game_law import IMPOSED, OUTSIDE, REFUSED, whole_numbers
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import answer_note, unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest

TEN = tuple(range(11))
NOTE = "I weigh what the other may want."
"""The private note of a person in a game; its words have no influence."""


def answer_move(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a move, with the exact probability of each."""
    facts, law = reading.facts, speaker.laws.play
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
    return _chosen(reading, whole_numbers(speaker.laws.play.statement(_level(reading, speaker)), TEN))


def answer_game_note(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a private note: in a game a fixed line, elsewhere as on a topic."""
    if "game" not in reading.facts or reading.request.purpose != "bounded":
        return answer_note(reading, speaker)
    return Reply(NOTE)


def _level(reading: Reading, speaker: Speaker) -> float:
    noise = normal(digest("game", reading.persona, reading.facts["game"]))
    return speaker.laws.play.person_level(noise, reading.facts.get("imposed"))


def _chosen(reading: Reading, shares: list[float]) -> Reply:
    if len(shares) != len(reading.request.answers):
        return unknown(reading)
    reply = Reply(None)
    set_choice(reply, reading.request, shares)
    return reply
