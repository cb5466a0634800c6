"""random: links between people drawn from all pairs alike (Erdős and Rényi 1959, Publicationes Mathematicae 6)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random as Generator

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse
from parley.environments.base import in_range
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class Random(Graph):
    """`degree`: mean number heard; `directed`: whether hearing somebody says nothing of being heard."""

    degree: float = 8.0
    directed: bool = False

    def __post_init__(self) -> None:
        in_range(0, 1e6, degree=self.degree)

    def fits(self, seats: tuple[str, ...]) -> None:
        if self.degree > len(seats) - 1:
            raise ValueError(f"nobody of {len(seats)} people can hear {self.degree:g} others: give a smaller degree")

    def build(self, seats: tuple[str, ...], rng: Generator) -> nx.Graph:
        links = round(len(seats) * self.degree / (1 if self.directed else 2))
        return nx.gnm_random_graph(len(seats), links, seed=rng, directed=self.directed)

    def array(self, members: sparse.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse.random_graph(len(members), self.degree, generator)
