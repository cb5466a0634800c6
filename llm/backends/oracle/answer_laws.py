"""Planted laws of answers to a survey: another wording, a reminder of the earlier answer, the interviewer, a guessed aim.

The planted law of wording: after a line was heard, answers are higher under another wording than the given one.

Example: with 1.5 points, an attitude of 4 (0-10) is answered as 5.5 under another wording, and as 4 under the given one.

The planted law of panels: with probability `steady` a person who is reminded of its earlier answer gives it again.

Otherwise it answers as without a reminder. So an answer to which a person gives the probability s is followed by the same answer
with probability steady + (1 - steady) s, and the distribution of the answers of each wave stays as it is.

The planted law of sycophancy: an answer goes a share of the way to what the interviewer says to think.

Example: with a share of .2, an agreement of 4 (0-10) becomes 5.2 if the interviewer is for the claim, and 3.2 if against it. The
two answers then differ by .2 of the scale, whatever the agreement is.

The planted law of suspicion: some people guess what a study is about, and go where they think that it wants them.

A person guesses right with the planted probability; all others choose among the answers at random. Everyone expects a change
drawn among less agreement, no change, and more agreement. Who guesses right goes `points` (0-10) toward the change that it
expects, as soon as it has heard a line. All is drawn once per person and room.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError
from parley.llm.purposes import RatingScale
from parley.llm.seeding import stream

LOW, HIGH = 0.0, 10.0
GIVEN = "given"


def plant_wording(wording: float = 0.0) -> float:
    """Return the points. Errors: UserError for points that are off the scale."""
    if not -HIGH <= wording <= HIGH:
        raise UserError("oracle: wording must be between -10 and 10 points. Example: oracle,wording=1.5")
    return wording


def shift_by_wording(reading: Reading, attitude: float, points: float) -> float:
    """Return the attitude (0-10) by which a person answers."""
    if not points or not reading.heard or reading.facts.get("wording", GIVEN) == GIVEN:
        return attitude
    return min(max(attitude + points, LOW), HIGH)


def plant_steadiness(steady: float = 0.0) -> float:
    """Return the probability of repeating an answer. Errors: UserError."""
    if not 0 <= steady <= 1:
        raise UserError("oracle: steady must be between 0 and 1. Example: oracle,steady=0.5")
    return steady


def repeated(reading: Reading, scale: RatingScale, shares: Mapping[int, float], steady: float) -> Mapping[int, float]:
    """Return the answer distribution of a person who may repeat the answer that the prompt states; else unchanged."""
    earlier = reading.facts.get("state", {}).get(reading.facts.get("construct", ""))
    if not steady or earlier is None:
        return shares
    kept = round(scale.low + earlier * (scale.high - scale.low))
    return {point: steady * (point == kept) + (1 - steady) * share for point, share in shares.items()}


def plant_sycophancy(sycophancy: float = 0.0) -> float:
    """Return the share. Errors: UserError for a share that is none."""
    if not 0 <= sycophancy <= 1:
        raise UserError("oracle: sycophancy must be between 0 and 1. Example: oracle,sycophancy=0.2")
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


STUDIED, EXPECTED = "studied", "expected"
RIGHT = 1
"""The point of the right answer to `studied`."""
WAYS = (-1, 0, 1)
"""Less agreement, no change, more agreement: the points of `expected`, from low to high."""


class SuspicionLaw(NamedTuple):
    """suspects: the probability that a person guesses what is studied. complies: the points by which it then goes."""

    suspects: float = 0.0
    complies: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number out of range."""
        if not (0 <= self.suspects <= 1 and 0 <= self.complies <= HIGH):
            raise UserError(
                "oracle: suspects must be from 0 to 1, and complies from 0 to 10. Example: oracle,suspects=0.5,complies=2"
            )

    def shares(self, reading: Reading, scale: RatingScale) -> dict[int, float]:
        """Return the distribution of answers to STUDIED or EXPECTED over the points of the scale."""
        points = range(scale.low, scale.high + 1)
        if reading.facts.get("construct") == EXPECTED:
            return {point: float(point == scale.low + 1 + self._way(reading)) for point in points}
        if self._knows(reading):
            return {point: float(point == RIGHT) for point in points}
        return {point: 1 / len(points) for point in points}

    def comply(self, reading: Reading, attitude: float, direction: int) -> float:
        """Return the attitude by which a person answers. direction: 1 where agreement is the high end of the axis."""
        if not self.complies or not reading.heard or not self._knows(reading):
            return attitude
        return min(HIGH, max(LOW, attitude + direction * self._way(reading) * self.complies))

    def _knows(self, reading: Reading) -> bool:
        return _draws(reading, "suspects").random() < self.suspects

    def _way(self, reading: Reading) -> int:
        return _draws(reading, "way").choice(WAYS)


def _draws(reading: Reading, name: str) -> random.Random:
    return stream(0, "suspicion", name, sorted(reading.request.names or ()), reading.persona)


UNSUSPECTING = SuspicionLaw()
