"""The planted law of a mediator with many candidates: how far they differ, and how often it only guesses a member's ballot."""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.llm.errors import UserError


class MediationLaw(NamedTuple):
    """apart: the most points (of 1 to 7) by which a candidate's stance differs from what the opinions call for.

    guesses: the share of predicted ballots that are drawn at random, so that they say nothing of the member.
    """

    apart: float = 0.0
    guesses: float = 0.0

    def check(self) -> None:
        """Errors: UserError on values out of range."""
        if not (math.isfinite(self.apart) and self.apart >= 0 and 0 <= self.guesses <= 1):
            raise UserError(
                "oracle: apart must be at least 0 and guesses from 0 to 1, as in oracle,apart=2,guesses=0.5"
            )


USUAL = MediationLaw()
