"""sequential: social learning; one after another in a random order, and each is heard by those still to come.

The order is drawn anew every round. Whoever has spoken in a round hears nothing more in it; of those still to come, those with a
link to the speaker hear it: in a complete graph, all of them (Banerjee 1992, Q. J. Econ. 107, 797-817; Bikhchandani et al. 1992,
J. Polit. Econ. 100, 992-1026). Who is not active does not come to speak, and hears all that it hears by its links. Always in
turn, whatever the timing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import Turn
from parley.environments.rules._base import Rule, concurrent_batches, in_batches


@dataclass(frozen=True)
class Sequential(Rule):
    """No options."""

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        order = society.draw("sequential", round_).sample(list(speakers), len(speakers))
        place, heard_by = {one: number for number, one in enumerate(order)}, society.links.heard_by
        yield from in_batches(
            [
                [
                    Turn(one, tuple([to for to in heard_by[one] if place.get(to, len(order)) > place[one]]))
                    for one in lot
                ]
                for lot in concurrent_batches(order, society.links)
            ]
        )
