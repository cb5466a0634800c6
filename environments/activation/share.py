"""share: in every round the same share of the people, drawn anew."""

from __future__ import annotations

from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import in_range


@dataclass(frozen=True)
class Share:
    """`share` of the people, rounded to the nearest whole number of them (half to the even one, as Python rounds)."""

    share: float = 0.5
    varies = False

    def __post_init__(self) -> None:
        in_range(0, 1, share=self.share)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        return tuple(society.draw("active", round_).sample(members, round(self.share * len(members))))
