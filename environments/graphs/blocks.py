"""blocks: chance links, more of them within a party than across (stochastic block model; Holland et al. 1983, Social Networks 5).

Where parties differ in size the chance of a link across is the same for every pair, so that the larger party's people hear
somewhat fewer of the others than those of the smaller one. Somebody may come to hear nobody.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse
from parley.environments.base import in_range
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class Blocks(Graph):
    """`degree`: expected number heard; `homophily`: expected share of one's links within one's party.

    `directed`: whether hearing somebody says nothing of being heard.
    """

    degree: float = 8.0
    homophily: float = 0.8
    directed: bool = False
    placed = True

    def __post_init__(self) -> None:
        in_range(0, 1, homophily=self.homophily)
        in_range(0, 1e6, degree=self.degree)

    def fits(self, seats: tuple[str, ...]) -> None:
        if any(chance > 1 for row in self.chances(Counter(seats)) for chance in row):
            raise ValueError(f"a degree of {self.degree:g} cannot be had among {len(seats)} people: give a smaller one")

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        sizes = Counter(seats)
        chances = self.chances(sizes)
        places = [[seat for seat, one in enumerate(seats) if one == party] for party in sizes]
        graph = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(range(len(seats)))
        for first, ones in enumerate(places):
            for second, others in enumerate(places):
                if self.directed or first <= second:
                    pairs = _Pairs(ones, others, first == second, self.directed)
                    graph.add_edges_from(pairs.drawn(chances[first][second], rng))
        return graph

    def array(self, members: sparse.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse.blocks(members, self.degree, self.homophily, generator)

    def chances(self, sizes: Counter[str]) -> list[list[float]]:
        """The chance of a link from somebody of the row's party to somebody of the column's.

        >>> Blocks(8, 0.75).chances(Counter({"republican": 25, "democrat": 25}))
        [[0.25, 0.08], [0.08, 0.25]]
        """
        people, own = sizes.total(), self.homophily if len(sizes) > 1 else 1.0
        within, across = own * self.degree, (1 - own) * self.degree
        others = sum(size * (people - size) for size in sizes.values()) / people  # of another party, on average
        return [
            [within / max(size - 1, 1) if one == other else across / others for other in sizes]
            for one, size in sizes.items()
        ]


class _Pairs:
    """All pairs of one of `ones` with one of `others`, numbered from 0; `inner` ones each once, or both ways if `directed`."""

    def __init__(self, ones: list[int], others: list[int], inner: bool, directed: bool):
        self.ones, self.others, self.inner, self.directed = ones, others, inner, directed
        self.count = len(ones) * (len(others) - inner) // (1 if directed or not inner else 2)

    def drawn(self, chance: float, rng: Random) -> Iterator[tuple[int, int]]:
        """Each of the pairs with this chance: how many, then which."""
        many = int(np.random.default_rng(rng.getrandbits(64)).binomial(self.count, chance))
        return map(self.pair, sorted(rng.sample(range(self.count), many)))

    def pair(self, number: int) -> tuple[int, int]:
        if self.inner and not self.directed:
            larger = (1 + math.isqrt(1 + 8 * number)) // 2
            return self.ones[number - larger * (larger - 1) // 2], self.ones[larger]
        one, other = divmod(number, len(self.others) - self.inner)
        return self.ones[one], self.others[other + (self.inner and other >= one)]
