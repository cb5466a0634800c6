"""How links change between rounds, a class each; `rewiring=nearer,beyond=2` chooses one.

Each class here is one choice, and its fields are the options. `changes(society, round_)` returns the links that vanish
before a round and the links that appear. `by_attitude` says whether ratings decide. `rewire(graph, opinions, generator)`
does the same with the arrays of a population (`--rewiring nearer,beyond=2`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from parley.environments._social_graph import Pairs, SocialGraph
from parley.environments.base import in_range
from parley.environments.sparse_links import Codes, Floats, contains, distances, draw_distinct, places_of
from parley.llm.registry import Registry, UserError, name_of

REWIRING = Registry("rewiring", __name__, "parley.rewiring", ("changes",))
NO_ONE: Codes = np.empty(0, dtype=np.int64)


class Rewired(NamedTuple):
    """A graph after rewiring, and the links that changed: each of `rows` no longer hears `dropped`, but `added`, with these
    `weights`.
    """

    graph: csr_array
    rows: Codes = NO_ONE
    dropped: Codes = NO_ONE
    added: Codes = NO_ONE
    weights: Floats = np.empty(0)


def open_population_rewiring(spec: Any) -> Any:
    """Return the rule of a population; None if links stay. Errors: UserError, also for a rule that knows no arrays."""
    rule = REWIRING.open(spec) if spec else None
    if rule is None or isinstance(rule, NoRewiring):
        return None
    if not hasattr(rule, "rewire"):
        raise UserError(
            f"rewiring {name_of(type(rule))} has no method rewire(graph, opinions, generator) for populations"
        )
    return rule


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

    In a population, a new link has the weight of the dropped one, and is friendly.

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
            member: gap
            for member in heard
            if (gap := society.distance(hearer, member)) is not None and gap > self.beyond
        }
        if not distant:
            return None
        dropped = rng.choice(list(distant))
        others = set(rng.sample(members, min(self.choices, len(members)))).difference(heard, [hearer])
        distances = [(gap, member) for member in others if (gap := society.distance(hearer, member)) is not None]
        gap, nearest = min(distances, default=(math.inf, hearer))
        return ((hearer, dropped), (hearer, nearest)) if gap < distant[dropped] else None

    def rewire(self, graph: csr_array, opinions: Floats, generator: np.random.Generator) -> Rewired:
        """Return the links of a population after rewiring. opinions: (n,) or (n, d); NaN where unknown."""
        rows = np.flatnonzero(generator.random(len(opinions)) < self.probability)
        rows, places = self._distant(graph, opinions, rows, generator)
        if not len(rows):
            return Rewired(graph)
        others = draw_distinct(len(opinions), len(rows), self.choices, generator)
        gaps = self._gaps(graph, opinions, rows, others)
        best = gaps.argmin(axis=1)
        gap = np.take_along_axis(gaps, best[:, None], axis=1)[:, 0]
        nearer = gap < distances(opinions[graph.indices[places]] - opinions[rows])
        rows, places, added = rows[nearer], places[nearer], others[np.arange(len(rows)), best][nearer]
        dropped, indices, data = graph.indices[places].astype(np.int64), graph.indices.copy(), graph.data.copy()
        indices[places], data[places] = added, np.abs(data[places])
        return Rewired(csr_array((data, indices, graph.indptr), shape=graph.shape), rows, dropped, added, data[places])

    def _distant(
        self, graph: csr_array, opinions: Floats, rows: Codes, generator: np.random.Generator
    ) -> tuple[Codes, Codes]:
        """Draw a link to a distant member for each of these rows that has one: rows, and places in `graph.indices`."""
        places, degree = places_of(graph, rows), np.diff(graph.indptr)[rows]
        numbers = np.repeat(np.arange(len(rows)), degree)
        distant = distances(opinions[graph.indices[places]] - opinions[rows[numbers]]) > self.beyond
        places, counts = places[distant], np.bincount(numbers[distant], minlength=len(rows))
        drawn, some = (generator.random(len(rows)) * counts).astype(np.int64), counts > 0
        return rows[some], places[(np.cumsum(counts) - counts + drawn)[some]]

    def _gaps(self, graph: csr_array, opinions: Floats, rows: Codes, others: Codes) -> Floats:
        """Return (rows, choices) the distance to each drawn member; infinite for whom a row may not choose."""
        hearer, target = np.repeat(rows, others.shape[1]), others.ravel()
        gaps = distances(opinions[target] - opinions[hearer])
        gaps[np.isnan(gaps) | (target == hearer) | contains(graph, hearer, target)] = np.inf
        return gaps.reshape(others.shape)
