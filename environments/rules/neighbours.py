"""neighbours: everybody who is active speaks, and all who hear it hear it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import Turn
from parley.environments.rules._base import Rule, concurrent_batches, in_batches


@dataclass(frozen=True)
class Neighbours(Rule):
    """No options."""

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        asked = [speakers] if together else concurrent_batches(speakers, society.links)
        yield from in_batches([[Turn(one, self.hearers(society, one)) for one in lot] for lot in asked])

    def hearers(self, society: SocialGraph, speaker: int) -> tuple[int, ...]:
        """Those who listen to somebody."""
        return tuple(society.links.heard_by[speaker])
