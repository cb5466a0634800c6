"""geometric: people scattered over a unit square hear those near them (random geometric graph; Gilbert 1961, J. SIAM 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import networkx as nx

from parley.environments.base import in_range
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class Geometric(Graph):
    """`degree`: expected number heard by somebody who is not near the border. The radius is sqrt(degree / (pi * people))."""

    degree: float = 8.0

    def __post_init__(self) -> None:
        in_range(0, 1e6, degree=self.degree)

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.random_geometric_graph(len(seats), math.sqrt(self.degree / (math.pi * len(seats))), seed=rng)
