"""The planted law of attributes of people: which sentence a person gets, whether it contradicts, and how it moves answers."""

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
                f"oracle: variety must be from 1 to {VARIANTS}, alike and contradicts from 0 to 1, as in "
                "oracle,variety=2,alike=0.5"
            )
        if not 0 <= self.effect <= 20:
            raise UserError("oracle: attribute_effect must be from 0 to 20, as in oracle,attribute_effect=0.5")

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
