"""The law of invented surveys: people with a hidden position, statements of known strength, and the best prediction.

A person at position x agrees with a statement with probability 1 / (1 + exp(-(strength * x + popularity))) (an item response
model with two parameters per item; Birnbaum 1968). Positions have a standard normal distribution. Statements of the set `planted`
depend on the position; those of the set `independent` do not.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice

PLANTED, INDEPENDENT = "planted", "independent"
STATEMENTS = Path(__file__).parent / "data" / "statements.toml"
REACH, POINTS = 4.0, 41
"""The grid of positions over which the exact posterior is summed."""


class Statement(NamedTuple):
    """A statement with its planted numbers. Its direction is the sign of `strength`."""

    text: str
    strength: float
    popularity: float

    def agreement(self, position: float) -> float:
        """Return the probability that a person at this position agrees.

        >>> Statement("", 2.0, 0.0).agreement(0.0)
        0.5
        """
        return 1 / (1 + math.exp(-(self.strength * position + self.popularity)))


@cache
def statements(name: str, language: str = "en") -> tuple[Statement, ...]:
    """Return the statements of a set, `planted` or `independent`, in a language (en, de)."""
    tables = tomllib.loads(STATEMENTS.read_text(encoding="utf-8"))[name]
    return tuple(Statement(table[language], table["strength"], table["popularity"]) for table in tables)


@cache
def known_statement(text: str) -> Statement | None:
    """Return the statement with this text, in any language and set; None for a text of another survey."""
    every = (
        statement for name in (PLANTED, INDEPENDENT) for code in ("en", "de") for statement in statements(name, code)
    )
    return next((statement for statement in every if statement.text == text), None)


def predicted_agreement(stated: Sequence[tuple[Statement, bool]], asked_statement: Statement) -> float:
    """Return the probability that a person agrees with `asked_statement`, given its other answers: the exact posterior mean.

    No prediction from these answers alone has a smaller expected squared error. stated: statements, and whether it agreed.

    >>> strong = Statement("", 2.0, 0.0)
    >>> predicted_agreement([], strong), round(predicted_agreement([(strong, True)], strong), 2)
    (0.5, 0.7)
    """
    total = weighted = 0.0
    for place in range(POINTS):
        position = -REACH + 2 * REACH * place / (POINTS - 1)
        weight = math.exp(-position * position / 2)
        for statement, agreed in stated:
            chance = statement.agreement(position)
            weight *= chance if agreed else 1 - chance
        total += weight
        weighted += weight * asked_statement.agreement(position)
    return round(weighted / total, 12)


def answer_respondent(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the exact probability of agreement. A question that is not in the oracle's surveys is a named failure.

    Stated answers to other questions than the oracle's own are ignored.
    """
    facts, answers = reading.facts, reading.request.answers
    statement = known_statement(facts.get("question", ""))
    if statement is None or len(answers) != 2:
        return unknown(reading)
    stated = [(known_statement(text), answer == answers[0]) for text, answer in facts.get("stated", ())]
    chance = predicted_agreement([(other, agreed) for other, agreed in stated if other is not None], statement)
    reply = Reply(None)
    set_choice(reply, reading.request, [chance, 1 - chance])
    return reply
