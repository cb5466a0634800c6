"""The planted law of panels: with probability `steady` a person who is reminded of its earlier answer gives it again.

Otherwise it answers as without a reminder. So an answer to which a person gives the probability s is followed by the same answer
with probability steady + (1 - steady) s, and the distribution of the answers of each wave stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError
from parley.llm.purposes import RatingScale


def plant_steadiness(steady: float = 0.0) -> float:
    """Return the probability of repeating an answer. Errors: UserError."""
    if not 0 <= steady <= 1:
        raise UserError("oracle: steady must be from 0 to 1, as in oracle,steady=0.5")
    return steady


def repeated(reading: Reading, scale: RatingScale, shares: Mapping[int, float], steady: float) -> Mapping[int, float]:
    """Return the answer distribution of a person who may repeat the answer that the prompt states; else unchanged."""
    earlier = reading.facts.get("state", {}).get(reading.facts.get("construct", ""))
    if not steady or earlier is None:
        return shares
    kept = round(scale.low + earlier * (scale.high - scale.low))
    return {point: steady * (point == kept) + (1 - steady) * share for point, share in shares.items()}
