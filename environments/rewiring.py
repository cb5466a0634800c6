"""Rewiring: how the links of a network change between rounds. `rewiring=nearer,beyond=2` chooses one
(docs/networks.md).

Each class here is one choice, and its fields are the options. `changes(society, round_)` returns the links that vanish
before a round and the links that appear. `by_attitude` says whether ratings decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from parley.environments._social_graph import Pairs, SocialGraph
from parley.environments.base import in_range
from parley.llm.registry import Registry

REWIRING = Registry("rewiring", __name__, "parley.rewiring", ("changes",))


@dataclass(frozen=True)
class NoRewiring:
    """Links stay as they are. No options."""

    name = "none"
    by_attitude = False

    def changes(self, society: SocialGraph, round_: int) -> tuple[Pairs, Pairs]:
        return (), ()


@dataclass(frozen=True)
class Nearer:
    """A member stops hearing a member with a distant attitude, and hears a nearer one instead.

    Before every round but the first, each member does this with a `probability`. It draws one of the members that it
    hears and that are more than `beyond` points away (0-10), and `choices` members that it does not hear. The nearest
    of these replaces the drawn one if it is nearer. So everyone hears as many members as before. A member without a
    known attitude takes no part: it is not dropped, not chosen, and drops no one. A link belongs to its hearer, so an
    undirected graph becomes a directed one.

    After unfollowing in Sasahara et al. 2021, J. Comput. Soc. Sci. 4, 381-402, where other rules choose the new member.
    """

    probability: float = 0.2
    beyond: float = 3.0
    choices: int = 10
    by_attitude = True

    def __post_init__(self) -> None:
        in_range(0, 1, probability=self.probability)
        in_range(0, 10, beyond=self.beyond)
        in_range(1, 1e6, choices=self.choices)

    def changes(self, society: SocialGraph, round_: int) -> tuple[Pairs, Pairs]:
        rng, members = society.draw("rewiring", round_), list(society.links.hears)
        drawn = [self._change(member, members, society, rng) for member in members if rng.random() < self.probability]
        changes = [change for change in drawn if change]
        return tuple([removed for removed, _ in changes]), tuple([added for _, added in changes])

    def _change(
        self, hearer: int, members: list[int], society: SocialGraph, rng: Random
    ) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Draw the link that a member drops and the link that it makes; None if it changes nothing."""
        heard = society.links.hears[hearer]
        distant = {
            one: gap for one in heard if (gap := society.distance(hearer, one)) is not None and gap > self.beyond
        }
        if not distant:
            return None
        dropped = rng.choice(list(distant))
        others = set(rng.sample(members, min(self.choices, len(members)))).difference(heard, [hearer])
        known = [(gap, one) for one in others if (gap := society.distance(hearer, one)) is not None]
        gap, nearest = min(known, default=(math.inf, hearer))
        return ((hearer, dropped), (hearer, nearest)) if gap < distant[dropped] else None
