"""The planted law of a mediator: whom its drafts suit, how far candidates differ, how often it only guesses a ballot."""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.llm.errors import UserError


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
                "oracle: apart must be at least 0 and guesses from 0 to 1, as in oracle,apart=2,guesses=0.5"
            )
        if not (-1 <= (self.majority or 0) <= 1 and 0 <= self.primacy <= 1):
            raise UserError(
                "oracle: majority must be from -1 to 1 and primacy from 0 to 1, as in oracle,majority=0.5,primacy=0.3"
            )


USUAL = MediationLaw()
