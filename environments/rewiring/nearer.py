"""nearer: people stop hearing somebody far from them and come to hear somebody nearer, one for one.

Before every round but the first each person, with a probability, looks at one of those it hears who are farther away than
`beyond`, drawn at random, and at `choices` people whom it does not hear, drawn at random: the nearest of these takes the place of
that one, if it is nearer to the person. So everybody goes on hearing as many as before. Whose attitude is not known is neither
far nor near: it is not left, not chosen, and leaves nobody. A link is the hearer's own: an undirected graph becomes a directed
one. After unfollowing in Sasahara et al. 2021, J. Comput. Soc. Sci. 4, 381-402; there the new one is drawn by other rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from parley.environments._social_graph import Pairs, SocialGraph
from parley.environments.base import in_range


@dataclass(frozen=True)
class Nearer:
    """`probability` a person and round; `beyond`: points of attitude (0-10); `choices`: people looked at."""

    probability: float = 0.2
    beyond: float = 3.0
    choices: int = 10
    by_attitude = True

    def __post_init__(self) -> None:
        in_range(0, 1, probability=self.probability)
        in_range(0, 10, beyond=self.beyond)
        in_range(1, 1e6, choices=self.choices)

    def changes(self, society: SocialGraph, round_: int) -> tuple[Pairs, Pairs]:
        rng, people = society.draw("rewiring", round_), list(society.links.hears)
        made = [self._change(person, people, society, rng) for person in people if rng.random() < self.probability]
        kept = [pair for pair in made if pair]
        return tuple([old for old, _ in kept]), tuple([new for _, new in kept])

    def _change(
        self, person: int, people: list[int], society: SocialGraph, rng: Random
    ) -> tuple[tuple[int, int], tuple[int, int]] | None:
        heard = society.links.hears[person]
        far = [one for one in heard if (away := society.apart(person, one)) is not None and away > self.beyond]
        if not far:
            return None
        left = rng.choice(far)
        looked = rng.sample(people, min(self.choices, len(people)))
        known = [(away, one) for one in looked if one != person and (away := society.apart(person, one)) is not None]
        near = min([(away, one) for away, one in known if one not in heard], default=None)
        if near is None or near[0] >= (society.apart(person, left) or 0):
            return None
        return (person, left), (person, near[1])
