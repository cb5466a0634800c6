"""scale_free: newcomers link to whom many are linked to already (Barabási and Albert 1999, Science 286, 509-512)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class ScaleFree(Graph):
    """`links`: how many each newcomer makes; `directed`: it hears them and they do not hear it, as where people follow."""

    links: int = 3
    directed: bool = False

    def __post_init__(self) -> None:
        if self.links < 1:
            raise ValueError(f"links must be at least 1, not {self.links}")

    def fits(self, seats: tuple[str, ...]) -> None:
        if self.links >= len(seats):
            raise ValueError(f"{len(seats)} people are too few for {self.links} links each: give fewer links")

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        graph = nx.barabasi_albert_graph(len(seats), self.links, seed=rng)
        if not self.directed:
            return graph
        return nx.DiGraph([(max(ends), min(ends)) for ends in graph.edges])  # the newcomer has the larger number

    def array(self, members: sparse.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse.scale_free(len(members), 2 * self.links, generator)
