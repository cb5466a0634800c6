"""Large sparse graphs, checked on small ones: how many links, between whom, and that they are drawn as said."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from parley.environments.sparse_graphs import MOST, blocks, from_networkx, random_graph, ring, scale_free, small_world

HALVES = np.arange(200) % 2
BUILDERS: dict[str, Callable[[np.random.Generator], csr_array]] = {
    "random": lambda rng: random_graph(200, 6, rng),
    "ring": lambda rng: ring(200, 6),
    "small_world": lambda rng: small_world(200, 6, 0.3, rng),
    "blocks": lambda rng: blocks(HALVES, 6, 0.8, rng),
    "scale_free": lambda rng: scale_free(200, 6, rng),
}


def built(name: str, seed: int) -> csr_array:
    return BUILDERS[name](np.random.default_rng(seed))


@pytest.mark.parametrize("name", BUILDERS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_graph_is_simple_undirected_and_reproducible(name: str, seed: int) -> None:
    """No double link (its weight would be 2), none to oneself, both ways the same, columns in order, the same again for the
    same seed."""
    graph = built(name, seed)
    assert (graph.data == 1).all()
    assert not graph.diagonal().any()
    assert (graph != graph.T).nnz == 0
    assert graph.has_sorted_indices
    assert (graph.indices.dtype, graph.indptr.dtype) == (np.int32, np.int32)
    assert (built(name, seed) != graph).nnz == 0


@check_each("name", ["random", "ring", "small_world", "blocks"])
def test_the_mean_degree_is_that_asked_for(name: str) -> None:
    assert built(name, 3).nnz == 200 * 6


def test_ring_and_unrewired_small_world_are_networkxs() -> None:
    """Watts-Strogatz without rewiring is a lattice; networkx's is the reference."""
    expected = nx.to_scipy_sparse_array(nx.watts_strogatz_graph(30, 4, 0), weight=None)
    assert (ring(30, 4) != expected).nnz == 0
    assert (small_world(30, 4, 0.0, np.random.default_rng(1)) != expected).nnz == 0


def test_rewiring_is_that_of_watts_and_strogatz() -> None:
    """Each link keeps its place with probability 1 - p, and clustering falls near to C(0) (1 - p)^3 (Barrat and Weigt 2000)."""
    graph, lattice = small_world(4000, 10, 0.2, np.random.default_rng(2)), ring(4000, 10)
    stayed = graph.multiply(lattice).sum() / lattice.nnz
    assert stayed == pytest.approx(0.8, abs=0.015)  # 20,000 links: standard error .003; few come back by chance
    assert nx.average_clustering(nx.from_scipy_sparse_array(graph)) == pytest.approx(2 / 3 * 0.8**3, abs=0.03)


def test_a_random_graph_has_poisson_degrees() -> None:
    """Variance of the degrees near their mean (6), unlike the ring's 0 and scale-free's more than 20."""
    variance = {name: np.diff(BUILDERS[name](np.random.default_rng(4)).indptr).var() for name in BUILDERS}
    assert 4 < variance["random"] < 8.5
    assert variance["ring"] == 0
    assert variance["scale_free"] > 20


@check_each("homophily", [0.0, 0.5, 0.8, 1.0])
def test_blocks_hold_their_share_of_links(homophily: float) -> None:
    """Exactly; with three unequal blocks, and with people of a block in any places."""
    membership = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], [100, 60, 40]))
    graph = blocks(membership, 6, homophily, np.random.default_rng(5)).tocoo()
    rows, columns = graph.coords
    assert (membership[rows] == membership[columns]).sum() == round(homophily * 600) * 2


def test_every_pair_of_a_small_graph_has_the_same_chance() -> None:
    """3 of 10 pairs, 500 times: chi-square over the pairs."""
    counts = np.zeros((5, 5))
    rng = np.random.default_rng(6)
    for _ in range(500):
        counts += random_graph(5, 1.2, rng).toarray()
    drawn = counts[np.triu_indices(5, 1)]
    assert drawn.sum() == 1500
    assert ((drawn - 150) ** 2 / 150).sum() < 27.9  # the 99.9th percentile with 9 degrees of freedom


def test_every_pair_has_the_same_chance_in_a_dense_graph_too() -> None:
    """7 of 10 pairs, 500 times: those left out are drawn, 3 of 10."""
    left_out = np.zeros((5, 5))
    rng = np.random.default_rng(6)
    for _ in range(500):
        left_out += 1 - random_graph(5, 2.8, rng).toarray()
    drawn = left_out[np.triu_indices(5, 1)]
    assert drawn.sum() == 1500
    assert ((drawn - 150) ** 2 / 150).sum() < 27.9  # the 99.9th percentile with 9 degrees of freedom


def test_dense_graphs_end() -> None:
    """Everybody linked with everybody, or with all of the own block, or of the other: the last pairs used to be waited for."""
    rng, people = np.random.default_rng(0), 2000
    assert random_graph(people, people - 1, rng).nnz == people * (people - 1)
    halves = np.arange(people) % 2
    inside = blocks(halves, people / 2 - 1, 1.0, rng).tocoo().coords
    assert (halves[inside[0]] == halves[inside[1]]).all()
    assert len(inside[0]) == people * (people / 2 - 1)
    across = blocks(halves, people / 2, 0.0, rng).tocoo().coords
    assert (halves[across[0]] != halves[across[1]]).all()
    assert len(across[0]) == people * people / 2


@check_each("seed", [51, 60, 89])
def test_a_link_of_somebody_linked_with_everybody_finds_a_place(seed: int) -> None:
    """With these seeds the last link to be rewired belongs to such a person; no end of it was ever free."""
    graph = small_world(4, 2, 1.0, np.random.default_rng(seed))
    assert graph.nnz == 4 * 2
    assert not graph.diagonal().any()


def test_from_networkx_keeps_who_hears_whom() -> None:
    """a -> b: a hears b. Own links are dropped; a weight is kept, and must be one."""
    graph = nx.DiGraph([(0, 1), (1, 1), (2, 0)])
    graph.add_edge(0, 2, weight=7)
    assert from_networkx(graph).toarray().tolist() == [[0, 1, 7], [0, 0, 0], [1, 0, 0]]
    graph.add_edge(0, 2, weight=-7)
    with pytest.raises(ValueError, match="weight of a link must be a number above 0"):
        from_networkx(graph)
    graph.add_edge(0, 2, weight=7, sign=-1)
    assert from_networkx(graph).toarray().tolist() == [[0, 1, -7], [0, 0, 0], [1, 0, 0]]
    graph.add_edge(0, 2, sign=2)
    with pytest.raises(ValueError, match="sign of a link must be 1 or -1"):
        from_networkx(graph)


@check_each(
    ("build", "told"),
    [
        (lambda rng: random_graph(5, 7, rng), "at most 4"),
        (lambda rng: ring(10, 3), "an even number"),
        (lambda rng: small_world(10, 4, 1.5, rng), "rewired is 1.5, but must be between 0 and 1"),
        (lambda rng: small_world(10, 8, 0.5, rng), "at most 5"),
        (lambda rng: blocks(HALVES[:6], 4, 1.0, rng), "too few pairs"),
        (lambda rng: scale_free(MOST + 1, 4, rng), "at most 100,000"),
    ],
)
def test_what_cannot_be_built_is_told(build: Callable[[np.random.Generator], csr_array], told: str) -> None:
    """A draw that could never end is refused before it begins."""
    with pytest.raises(ValueError, match=told):
        build(np.random.default_rng(0))
