"""pairs: two and two talk along links, drawn anew every round; nobody else hears them, and who finds nobody says nothing.

The matching is maximal, not the largest there is: the active people, in a random order, take one of those still free whom they
hear and who hear them, each as likely as the other. Simultaneous: both speak at once; sequential: the second has heard the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parley.environments._social_graph import SocialGraph
from parley.environments.base import Turn
from parley.environments.rules._base import Rule, in_batches


@dataclass(frozen=True)
class Pairs(Rule):
    """No options."""

    varies = True
    changing = True

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        matched = self.matching(society, speakers, round_)
        first = [Turn(one, (other,)) for one, other in matched]
        second = [Turn(other, (one,)) for one, other in matched]
        yield from in_batches([[*first, *second]] if together else [first, second])

    def matching(self, society: SocialGraph, speakers: Sequence[int], round_: int) -> list[tuple[int, int]]:
        """Pairs of active people; nobody is in two of them."""
        rng = society.draw("pairs", round_)
        free = dict.fromkeys(speakers)
        pairs = []
        for one in rng.sample(list(free), len(free)):
            if one not in free:
                continue
            del free[one]
            willing = [other for other in society.links.mutual(one) if other in free]
            if willing:
                other = rng.choice(willing)
                del free[other]
                pairs.append((one, other))
        return pairs
