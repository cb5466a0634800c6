"""The planted law of choices between two profiles: the worth of each level, how people differ, and the weight of coming first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.errors import UserError

NO_WORTH: Mapping[str, float] = {}


class ProfileLaw(NamedTuple):
    """The probability of choosing the profile shown first is .5 + `first` + its worth - that of the other, within 0 to 1.

    worth: of each level by `attribute/level`; 0 for a level that is not named. spread: the SD over people of the worth of a
    level.
    The AMCE of a level is its worth minus that of the baseline, as long as no probability would lie outside of 0 to 1.
    """

    worth: Mapping[str, float] = NO_WORTH
    spread: float = 0.05
    first: float = 0.0

    def check(self) -> None:
        """Errors: UserError on numbers that are not finite, and on a negative spread."""
        if not all(map(math.isfinite, (*self.worth.values(), self.first))) or not 0 <= self.spread < math.inf:
            raise UserError(
                "oracle: worth and first must be finite numbers, and worth_spread 0 or more, as in "
                "oracle,worth=age/52:0.1,worth_spread=0.05"
            )


INDIFFERENT = ProfileLaw()


def plant_profiles(worth: str = "", worth_spread: float = 0.05, first: float = 0.0) -> ProfileLaw:
    """Return the law. worth: by `attribute/level`, as `age/52:0.1+taxes/lower:-0.2`. Errors: UserError."""
    return ProfileLaw(parse_numbers("worth", worth), worth_spread, first)
