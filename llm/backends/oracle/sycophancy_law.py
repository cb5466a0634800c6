"""The planted law of sycophancy: an answer goes a share of the way to what the interviewer says to think.

Example: with a share of .2, an agreement of 4 (0-10) becomes 5.2 if the interviewer is for the claim, and 3.2 if against it. The
two answers then differ by .2 of the scale, whatever the agreement is.
"""

from __future__ import annotations

from parley.llm.errors import UserError

LOW, HIGH = 0.0, 10.0


def plant_sycophancy(sycophancy: float = 0.0) -> float:
    """Return the share. Errors: UserError for a share that is none."""
    if not 0 <= sycophancy <= 1:
        raise UserError("oracle: sycophancy must be from 0 to 1, as in oracle,sycophancy=0.2")
    return sycophancy


def toward_interviewer(attitude: float, view: str, direction: int, share: float) -> float:
    """Return the attitude (0-10) by which a person answers. view: for, against, or "" (none is stated). direction: 1 where
    agreement is the high end of the axis, -1: the low end.

    >>> toward_interviewer(4.0, "for", 1, 0.2), toward_interviewer(4.0, "against", 1, 0.2), toward_interviewer(4.0, "", 1, 0.2)
    (5.2, 3.2, 4.0)
    """
    if not view:
        return attitude
    stated = HIGH if (view == "for") == (direction == 1) else LOW
    return attitude + share * (stated - attitude)
