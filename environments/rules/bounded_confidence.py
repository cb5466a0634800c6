"""bounded_confidence: as `neighbours`, but only those near one's own attitude are listened to.

After Hegselmann and Krause 2002, JASSS 5(3) 2, with links. Near is a distance of at most `epsilon` points between the last
ratings. Whose attitude is not known is near to nobody: it listens to nobody, and nobody listens to it, in that round.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import in_range
from parley.environments.rules.neighbours import Neighbours


@dataclass(frozen=True)
class BoundedConfidence(Neighbours):
    """`epsilon`: points of attitude (0-10)."""

    epsilon: float = 3.0
    by_attitude = True
    changing = True

    def __post_init__(self) -> None:
        in_range(0, 10, epsilon=self.epsilon)

    def hearers(self, society: SocialGraph, speaker: int) -> tuple[int, ...]:
        everybody = super().hearers(society, speaker)
        return tuple(
            [one for one in everybody if (away := society.apart(one, speaker)) is not None and away <= self.epsilon]
        )
