"""The planted law of suspicion: some people guess what a study is about, and go where they think that it wants them.

A person guesses right with the planted probability; all others choose among the answers at random. Everyone expects a change
drawn among less agreement, no change, and more agreement. Who guesses right goes `points` (0-10) toward the change that it
expects, as soon as it has heard a line. All is drawn once per person and room.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError
from parley.llm.purposes import RatingScale
from parley.llm.seeding import stream

STUDIED, EXPECTED = "studied", "expected"
RIGHT = 1
"""The point of the right answer to `studied`."""
WAYS = (-1, 0, 1)
"""Less agreement, no change, more agreement: the points of `expected`, from low to high."""
LOW, HIGH = 0.0, 10.0


class SuspicionLaw(NamedTuple):
    """suspects: the probability that a person guesses what is studied. complies: the points by which it then goes."""

    suspects: float = 0.0
    complies: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number out of range."""
        if not (0 <= self.suspects <= 1 and 0 <= self.complies <= HIGH):
            raise UserError(
                "oracle: suspects must be from 0 to 1, and complies from 0 to 10, as in oracle,suspects=0.5,complies=2"
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
