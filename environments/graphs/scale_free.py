"""scale_free: newcomers link to whom many are linked to already (Barabási and Albert 1999, Science 286, 509-512)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx


@dataclass(frozen=True)
class ScaleFree:
    """`links`: how many each newcomer makes; `directed`: it hears them and they do not hear it, as where people follow."""

    links: int = 3
    directed: bool = False
    placed = False

    def __post_init__(self) -> None:
        if self.links < 1:
            raise ValueError(f"links must be at least 1, not {self.links}")

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        if self.links >= len(seats):
            raise ValueError(f"{len(seats)} people are too few for {self.links} links each: give fewer links")
        graph = nx.barabasi_albert_graph(len(seats), self.links, seed=rng)
        if not self.directed:
            return graph
        return nx.DiGraph([(max(ends), min(ends)) for ends in graph.edges])  # the newcomer has the larger number
