"""Planted laws of people: their attributes, answers of groups to closed questions, representatives, and mediators.

The planted law of surveys: which share of a group chooses which option of a closed question.

Every question, option and group has fixed numbers, drawn by its text: the same text has the same numbers on every machine. So a
survey can be generated whose truth is known, by a speaker that knows it, flattens it, or ignores the groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.errors import UserError
from parley.llm.seeding import stream

VARIANTS = 6
"""Kinds of sentences on an attribute (banks/<code>/attributes.toml has as many)."""


class AttributeLaw(NamedTuple):
    """variety: kinds of sentences that are used, drawn with equal chances (1: everyone has the same). alike: the probability
    that a sentence is of the person's own kind, which follows from its core (0: kinds are independent of the person).
    contradicts: the probability that a sentence states another age. effect: how far each sentence moves the answers to a
    question, as the standard deviation of what it adds to the log of the share of an option (0: nothing).
    """

    variety: int = VARIANTS
    alike: float = 0.0
    contradicts: float = 0.0
    effect: float = 0.0

    def check(self) -> None:
        """Errors: UserError on a number outside of its range."""
        if not (1 <= self.variety <= VARIANTS and 0 <= self.alike <= 1 and 0 <= self.contradicts <= 1):
            raise UserError(
                f"oracle: variety must be between 1 and {VARIANTS}, and alike and contradicts must be between 0 "
                "and 1. Example: oracle,variety=2,alike=0.5"
            )
        if not 0 <= self.effect <= 20:
            raise UserError("oracle: attribute_effect must be between 0 and 20. Example: oracle,attribute_effect=0.5")

    def move(self, shares: Sequence[float], question: str, options: Sequence[str], kinds: Sequence[int]) -> list[float]:
        """Return the shares of options for a person who has sentences of these kinds. shares: those without sentences."""
        if not (self.effect and kinds):
            return list(shares)
        weights = [
            share * math.exp(self.effect * math.fsum(pull(question, option, kind) for kind in kinds))
            for share, option in zip(shares, options, strict=True)
        ]
        return [weight / math.fsum(weights) for weight in weights]


USUAL_ATTRIBUTES = AttributeLaw()


def plant_attributes(
    variety: int = VARIANTS, alike: float = 0.0, contradicts: float = 0.0, attribute_effect: float = 0.0
) -> AttributeLaw:
    """Return the law with these numbers."""
    return AttributeLaw(variety, alike, contradicts, attribute_effect)


def pull(question: str, option: str, kind: int) -> float:
    """Return the standard normal number by which a kind of sentence pulls to an option of a question."""
    return stream(0, "attribute", question, option, str(kind)).gauss(0.0, 1.0)


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
            raise UserError("oracle: group_effect and peaked must be between 0 and 20. Example: oracle,group_effect=0")

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


class RepresentationLaw(NamedTuple):
    """leaning: the share of a person's own part of a position that is the same on every question (0: none).

    With 1, a person's positions on other questions say what it thinks of this one; with 0 they say nothing.
    blind: the share of opinions and ballots of representatives that are drawn at random, so that they say nothing of the person.
    """

    leaning: float = 0.0
    blind: float = 0.0

    def check(self) -> None:
        """Errors: UserError on values out of range."""
        if not (0 <= self.leaning <= 1 and 0 <= self.blind <= 1):
            raise UserError("oracle: leaning and blind must be between 0 and 1. Example: oracle,leaning=1,blind=0.5")


USUAL_REPRESENTATION = RepresentationLaw()


class MediationLaw(NamedTuple):
    """apart: the most points (of 1 to 7) by which a candidate's stance differs from what the opinions call for.

    guesses: the share of predicted ballots that are drawn at random, so that they say nothing of the member.
    majority: where a draft is between the two sides: 0 halfway between their means, 1 at the mean of the larger side, -1 at that
    of the smaller one. None: the usual draft, halfway between the mean of all and that of the larger side. A planted draft names
    no values, because those that most members name would lean to the larger side too.
    primacy: the share of the way that a draft then goes to the opinion that it reads first.
    """

    apart: float = 0.0
    guesses: float = 0.0
    majority: float | None = None
    primacy: float = 0.0

    def check(self) -> None:
        """Errors: UserError on values out of range."""
        if not (math.isfinite(self.apart) and self.apart >= 0 and 0 <= self.guesses <= 1):
            raise UserError(
                "oracle: apart must be at least 0, and guesses from 0 to 1. Example: oracle,apart=2,guesses=0.5"
            )
        if not (-1 <= (self.majority or 0) <= 1 and 0 <= self.primacy <= 1):
            raise UserError(
                "oracle: majority must be from -1 to 1, and primacy from 0 to 1. Example: oracle,majority=0.5,primacy=0.3"
            )


USUAL_MEDIATION = MediationLaw()
