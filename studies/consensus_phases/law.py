"""The planted law of the oracle: how a person answers for or against a claim, by the answers of the others.

P(for) = side_noise / 2 + (1 - side_noise) / (1 + exp(-2 (conformity m + side_bias + first_option z)))

m is the mean answer of the others, from -1 (all against) to 1 (all for), 0 where no other answer is known. z is 1
where the option for the claim is listed first, else -1. The bias of a person on a topic varies around side_bias with
the SD side_spread.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from parley.llm.errors import UserError

if TYPE_CHECKING:
    from .theory import Curve


class ResponseLaw(NamedTuple):
    """conformity: the weight of the others' answers; side_bias: toward the claim; side_noise: the share of coin tosses (0 to 1);
    first_option: toward the option listed first; side_spread: the SD of the bias over people.
    """

    conformity: float = 1.5
    side_bias: float = 0.1
    side_noise: float = 0.0
    first_option: float = 0.0
    side_spread: float = 0.0

    def check(self) -> None:
        """Errors: UserError for numbers that are not finite, and for shares and spreads that are impossible."""
        if not (all(map(math.isfinite, self)) and 0 <= self.side_noise <= 1 and self.side_spread >= 0):
            raise UserError(
                "oracle: conformity, side_bias and first_option must be finite numbers, side_noise must be between "
                "0 and 1, and side_spread must be at least 0. Example: oracle,conformity=1.5,side_noise=0.1"
            )

    @property
    def curve(self) -> Curve:
        """The curve of theory.py without the effects of order and person."""
        from .theory import Curve  # numpy and scipy: the oracle, which opens this law, needs neither

        return Curve((1 - self.side_noise) * self.conformity, self.side_bias, self.side_noise)

    def share(self, others: float, listed_first: bool, deviation: float = 0.0) -> float:
        """Return the probability of an answer for the claim. others: their mean answer; deviation: standard normal, of
        the person.

        >>> round(ResponseLaw(1.0, 0.0).share(1.0, True), 4)
        0.8808
        """
        bias = self.side_bias + self.side_spread * deviation + self.first_option * (1 if listed_first else -1)
        strength = max(min(2 * (self.conformity * others + bias), 700.0), -700.0)
        return self.side_noise / 2 + (1 - self.side_noise) / (1 + math.exp(-strength))
