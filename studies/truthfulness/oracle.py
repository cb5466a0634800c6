"""The planted law of statements of fact, and the answers and judgements that the oracle gives by it."""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import nearest_shares, pick
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.seeding import digest

OVERALL = "overall"


class CrowdLaw(NamedTuple):
    """distinct: the share of a dimension that is not overall truthfulness; agree: the share of the variance of ratings that the
    whole crowd shares. Both from 0 to 1.
    """

    distinct: float = 0.3
    agree: float = 0.5

    def check(self) -> None:
        """Errors: UserError on shares outside of 0 to 1."""
        if not all(0 <= share <= 1 for share in self):
            raise UserError("oracle: distinct and agree must be from 0 to 1. Example: oracle,distinct=0.3,agree=0.5")

    def level(self, statement: str, dimension: str) -> float:
        """Return the level of a statement in a dimension, on which the crowd agrees: normal, with mean 0 and SD 1."""
        overall = normal("truth", statement)
        if dimension == OVERALL:
            return overall
        return math.sqrt(1 - self.distinct) * overall + math.sqrt(self.distinct) * normal("truth", statement, dimension)

    def rating(self, persona: str, statement: str, dimension: str) -> float:
        """Return what a person thinks: normal, with mean 0 and SD 1."""
        own_view = normal("view", persona, statement, dimension)
        return math.sqrt(self.agree) * self.level(statement, dimension) + math.sqrt(1 - self.agree) * own_view


def normal(*parts: str) -> float:
    """Return a standard normal number that depends on these texts (Box-Muller)."""
    seed = digest(*parts)
    radius = (int.from_bytes(seed[:8], "big") + 1) / (2**64 + 1)
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * int.from_bytes(seed[8:16], "big") / 2**64)


STEP = 1.2
"""Points of a scale from 1 to 7 for one SD of the crowd."""


def answer_truthfulness(reading: Reading, speaker: Speaker) -> Reply:
    """Answer how much a statement has of a quality."""
    facts = reading.facts
    scale = facts.get("scale")
    if scale is None or "statement" not in facts or "dimension" not in facts:
        return unknown(reading)
    view = speaker.laws.of("truthfulness").rating(reading.persona, facts["statement"], facts["dimension"])
    value = (scale.low + scale.high) / 2 + STEP * (scale.high - scale.low) / 6 * view
    return pick(reading, nearest_shares(scale, min(max(value, scale.low), scale.high)), str, "truthfulness")
