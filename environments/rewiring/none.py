"""none: links stay."""

from __future__ import annotations

from dataclasses import dataclass

from parley.environments._social_graph import Pairs, SocialGraph


@dataclass(frozen=True)
class NoRewiring:
    """No options."""

    by_attitude = False

    def changes(self, society: SocialGraph, round_: int) -> tuple[Pairs, Pairs]:
        return (), ()
