"""ring: a ring lattice; everybody hears the nearest on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class Ring(Graph):
    """`degree`: how many everybody hears, an even number."""

    degree: int = 4

    def __post_init__(self) -> None:
        if self.degree < 2 or self.degree % 2:
            raise ValueError(f"degree must be an even number of at least 2, not {self.degree}")

    def fits(self, seats: tuple[str, ...]) -> None:
        if self.degree >= len(seats):
            raise ValueError(f"nobody of {len(seats)} people can hear {self.degree} others: give a smaller degree")

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.circulant_graph(len(seats), range(1, self.degree // 2 + 1))

    def array(self, members: sparse.Codes, generator: np.random.Generator) -> csr_array | None:
        return sparse.ring(len(members), self.degree)
