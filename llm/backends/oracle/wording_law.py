"""The planted law of wording: after a line was heard, answers are higher under another wording than the given one.

Example: with 1.5 points, an attitude of 4 (0-10) is answered as 5.5 under another wording, and as 4 under the given one.
"""

from __future__ import annotations

from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError

LOW, HIGH = 0.0, 10.0
GIVEN = "given"


def plant_wording(wording: float = 0.0) -> float:
    """Return the points. Errors: UserError for points that are off the scale."""
    if not -HIGH <= wording <= HIGH:
        raise UserError("oracle: wording must be from -10 to 10 points, as in oracle,wording=1.5")
    return wording


def shift_by_wording(reading: Reading, attitude: float, points: float) -> float:
    """Return the attitude (0-10) by which a person answers."""
    if not points or not reading.heard or reading.facts.get("wording", GIVEN) == GIVEN:
        return attitude
    return min(max(attitude + points, LOW), HIGH)
