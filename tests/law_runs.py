"""What tests of laws share: graphs, generators, and runs of a law."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
from scipy.sparse import block_diag, csr_array

from parley.agents.laws import Floats, Law, People
from parley.agents.laws.motion import Motion
from parley.environments.sparse_graphs import from_networkx


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def weighted(size: int = 12, seed: int = 3) -> csr_array:
    """A strongly connected directed graph with weights: a ring, and a third of all other links."""
    rng = generator(seed)
    matrix = rng.random((size, size)) * (rng.random((size, size)) < 1 / 3)
    matrix[np.arange(size), (np.arange(size) + 1) % size] = 0.5
    np.fill_diagonal(matrix, 0)
    return csr_array(matrix)


def rows_to_one(graph: csr_array) -> Floats:
    """W: the graph as a dense matrix with rows that sum to 1."""
    matrix: Floats = graph.toarray()
    return matrix / matrix.sum(axis=1, keepdims=True)


def complete(size: int) -> csr_array:
    return from_networkx(nx.complete_graph(size))


def copies(graph: csr_array, count: int) -> csr_array:
    """Many copies of a graph without links between them: as many independent runs at once."""
    return csr_array(block_diag([graph] * count, format="csr"))


def after(
    law: Law, opinions: Floats, graph: csr_array, steps: int, seed: int = 0, people: People | None = None
) -> Floats:
    """The opinions after some steps of the law's own move."""
    law, rng = law.begin(opinions, people or People.alike(len(opinions))), generator(seed)
    for _ in range(steps):
        opinions = law.step(opinions, graph, rng)
    return opinions


def moved(
    law: Law, opinions: Floats, graph: csr_array, steps: int, seed: int = 0, people: People | None = None
) -> list[Floats]:
    """The opinions before and after each step with the options that every law has."""
    rng = generator(seed)
    motion, path = Motion.start(law, opinions, people or People.alike(len(opinions)), generator(99)), [opinions]
    for time in range(steps):
        path.append(motion.step(path[-1], graph, rng, time))
    return path


def with_traits(size: int, **traits: Sequence[float]) -> People:
    """People of one party with these traits."""
    return People(np.zeros(size, dtype=np.int64), traits={name: np.array(one, float) for name, one in traits.items()})
