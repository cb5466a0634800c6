"""every: everybody speaks in every round."""

from __future__ import annotations

from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph


@dataclass(frozen=True)
class Every:
    """No options."""

    varies = False

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        return members
