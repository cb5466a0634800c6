"""poisson: everybody is moved to speak at a constant rate, independently; once moved or more, it speaks once in that round.

The chance to speak in a round is therefore 1 - exp(-rate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import in_range


@dataclass(frozen=True)
class Poisson:
    """`rate`: expected number of impulses a person and round."""

    rate: float = 0.5
    varies = True

    def __post_init__(self) -> None:
        in_range(0, 1e3, rate=self.rate)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        rng, chance = society.draw("active", round_), 1 - math.exp(-self.rate)
        return tuple([member for member in members if rng.random() < chance])
