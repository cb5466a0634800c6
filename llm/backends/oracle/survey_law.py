"""The planted law of surveys: which share of a group chooses which option of a closed question.

Every question, option and group has fixed numbers, drawn by its text: the same text has the same numbers on every machine. So a
survey can be generated whose truth is known, by a speaker that knows it, flattens it, or ignores the groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.errors import UserError
from parley.llm.seeding import stream

BETWEEN_OPTIONS, BETWEEN_GROUPS = 1.0, 0.8
"""Standard deviations of the numbers of an option, and of what a group adds to them."""


class SurveyLaw(NamedTuple):
    """How much naming a group changes the answer (0: nothing), and how uneven the shares are (0: all options have the same).

    >>> SurveyLaw(peaked=0).shares("Tea or coffee?", ["tea", "coffee"], "Lindmoor")
    [0.5, 0.5]
    """

    group_effect: float = 1.0
    peaked: float = 1.0

    def check(self) -> None:
        """Errors: UserError on a number that is not finite, or is negative."""
        if not all(0 <= value <= 20 for value in self):
            raise UserError("oracle: group_effect and peaked must be from 0 to 20, as in oracle,group_effect=0")

    def shares(self, question: str, options: Sequence[str], group: str = "") -> list[float]:
        """Return the share of each option, which sum to 1. group: "" for the people of no group in particular."""
        scores = [
            _number(question, option) * BETWEEN_OPTIONS
            + (self.group_effect * BETWEEN_GROUPS * _number(question, option, group) if group else 0.0)
            for option in options
        ]
        weights = [math.exp(self.peaked * (score - max(scores))) for score in scores]
        return [weight / sum(weights) for weight in weights]


PLANTED_SURVEY = SurveyLaw()


def _number(*texts: str) -> float:
    """Return a standard normal number that belongs to these texts."""
    return stream(0, "survey", *texts).gauss(0.0, 1.0)
