"""small_world: a ring lattice of which some links lead elsewhere (Watts and Strogatz 1998, Nature 393, 440-442)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse
from parley.environments.base import in_range
from parley.environments.graphs._base import Graph
from parley.environments.graphs.ring import Ring


@dataclass(frozen=True)
class SmallWorld(Graph):
    """`degree`: mean number heard, an even number; `rewired`: probability that a link of the lattice leads to anybody instead."""

    degree: int = 6
    rewired: float = 0.1

    def __post_init__(self) -> None:
        Ring(self.degree)
        in_range(0, 1, rewired=self.rewired)

    def fits(self, seats: tuple[str, ...]) -> None:
        Ring(self.degree).fits(seats)

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.watts_strogatz_graph(len(seats), self.degree, self.rewired, seed=rng)

    def array(self, members: sparse.Codes, generator: np.random.Generator) -> csr_array | None:
        return sparse.small_world(len(members), self.degree, self.rewired, generator)
