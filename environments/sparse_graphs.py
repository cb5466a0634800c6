"""Draws large graphs as sparse arrays, for populations of many millions of agents without agent objects.

A graph is a `scipy.sparse.csr_array` (n, n) of ones: row i says whom i hears. In a large graph all links share one 1
in memory, so its weights cannot be written. The graphs drawn here are undirected,
without double links and without links of an agent to itself. `degree` is the mean number of neighbours. Errors:
ValueError.

While a graph is drawn, a link is one number, its code: smaller end * n + larger end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from parley.environments.link_attributes import SIGN

Codes = NDArray[np.int64]
MOST = 100_000
"""networkx is too slow for more nodes than this."""
SHARED = 10_000_000
"""From so many links on, links of the weight 1 share it."""


def random_graph(size: int, degree: float, generator: np.random.Generator) -> csr_array:
    """Draw G(n, m): m = n degree / 2 links from all pairs with equal chances. Source: Erdős and Rényi 1959."""
    _check(size, degree, size - 1)

    def draw(count: int) -> Codes:
        return _encode(generator.integers(size, size=count), generator.integers(size, size=count), size)

    links, pairs = round(size * degree / 2), size * (size - 1) // 2
    return _linked(_distinct(draw, links, pairs, lambda: _pairs_within([np.arange(size)], size)), size)


def ring(size: int, degree: float) -> csr_array:
    """Return a ring lattice: everyone is linked with the degree / 2 next agents on either side."""
    return _linked(np.sort(_encode(*_lattice(size, degree), size)), size)


def small_world(size: int, degree: float, rewired: float, generator: np.random.Generator) -> csr_array:
    """Draw a ring lattice in which each link, with probability `rewired`, leads from its first end to a random agent.

    Source: Watts and Strogatz 1998, Nature 393, 440-442. Departure: all links are rewired at once, not one by one
    around the ring. A link that exists already, or leads from an agent to itself, is drawn again; if its first end is
    linked with everyone, it gets another first end. The number of links stays n degree / 2.
    """
    if not 0 <= rewired <= 1:
        raise ValueError(f"rewired is {rewired:g}, but must be between 0 and 1")
    _check(size, degree, size // 2)
    sources, targets = _lattice(size, degree)
    moved = generator.random(len(sources)) < rewired
    links, left = _encode(sources, targets, size)[~moved], sources[moved]
    del sources, targets
    links.sort(kind="stable")  # nearly sorted: one pass
    while len(left):
        codes = _encode(left, generator.integers(size, size=len(left)), size)
        order = np.argsort(codes, kind="stable")
        new = np.empty(len(left), dtype=bool)
        new[order] = np.diff(codes[order], prepend=-1) > 0
        new[order] &= ~_contains(links, codes[order])
        links, left = np.sort(np.concatenate((links, codes[order][new[order]])), kind="stable"), left[~new]
        if not new.any():
            full = (np.bincount(np.concatenate((links // size, links % size)), minlength=size) == size - 1)[left]
            left[full] = generator.integers(size, size=int(full.sum()))
    return _linked(links, size)


def blocks(membership: Codes, degree: float, homophily: float, generator: np.random.Generator) -> csr_array:
    """Draw a stochastic block model in which the share `homophily` of all links is within blocks.

    membership: (n,) the number of each agent's block, from 0. Source: Holland, Laskey and Leinhardt 1983, Social
    Networks 5, 109-137; the planted partition with a given number of links: every pair within blocks has the same
    chance, and so has every pair across.
    """
    if not 0 <= homophily <= 1:
        raise ValueError(f"homophily is {homophily:g}, but must be between 0 and 1")
    size, sizes = len(membership), np.bincount(membership)
    _check(size, degree, size - 1)
    pairs_within = int((sizes * (sizes - 1) // 2).sum())
    pairs_across = size * (size - 1) // 2 - pairs_within
    within = round(homophily * size * degree / 2)
    across = round(size * degree / 2) - within
    if within > pairs_within or across > pairs_across:
        raise ValueError(f"blocks of {', '.join(map(str, sizes))} have too few pairs for that degree and homophily")
    people, starts = np.argsort(membership, kind="stable"), np.cumsum(sizes) - sizes
    parts = np.split(people, starts[1:])
    chances = sizes * (sizes - 1.0)

    def draw_within(count: int) -> Codes:
        block = generator.choice(len(sizes), size=count, p=chances / chances.sum())
        first, other = (people[starts[block] + generator.integers(sizes[block])] for _ in range(2))
        return _encode(first, other, size)

    def draw_across(count: int) -> Codes:
        first, other = generator.integers(size, size=count), generator.integers(size, size=count)
        return np.where(membership[first] == membership[other], -1, _encode(first, other, size))

    links = (
        _distinct(draw_within, within, pairs_within, lambda: _pairs_within(parts, size)),
        _distinct(draw_across, across, pairs_across, lambda: _pairs_across(parts, size)),
    )
    return _linked(np.concatenate(links), size)


def scale_free(size: int, degree: float, generator: np.random.Generator) -> csr_array:
    """Draw a graph by preferential attachment with networkx: each newcomer makes degree / 2 links.

    Source: Barabási and Albert 1999, Science 286, 509-512.
    """
    _check_even(degree)
    _check(size, degree, size - 1)
    _refuse_large(size)
    return from_networkx(nx.barabasi_albert_graph(size, int(degree) // 2, seed=int(generator.integers(2**31))))


def from_networkx(graph: nx.Graph, nodes: Sequence[Hashable] | None = None) -> csr_array:
    """Convert a graph of up to 100,000 nodes, numbered in its own order or that of `nodes`.

    A link a -> b of a directed graph means that a hears b. The data are the `weight` of each link, or 1 if it has none; below 0
    for a link with the `sign` -1. Rounds of links are left out (link_timetable.py).
    Errors: ValueError if a weight is not above 0, or if a sign is neither 1 nor -1.
    """
    _refuse_large(len(graph))
    array = csr_array(nx.to_scipy_sparse_array(graph, nodes, dtype=float, format="csr"))
    if not (np.isfinite(array.data).all() and (array.data > 0).all()):
        raise ValueError("the weight of a link must be a number above 0 (sign=-1 marks a hostile link)")
    signs = csr_array(nx.to_scipy_sparse_array(graph, nodes, dtype=float, weight=SIGN, format="csr"))
    if not (np.abs(signs.data) == 1).all():
        raise ValueError("the sign of a link must be 1 or -1")
    array = csr_array(array * signs)
    array.setdiag(0)
    array.eliminate_zeros()
    return _compact(array)


def _lattice(size: int, degree: float) -> tuple[Codes, Codes]:
    """Return both ends of each link of a ring lattice."""
    _check_even(degree)
    _check(size, degree, size - 1)
    steps = np.arange(1, int(degree) // 2 + 1)
    people = np.arange(size)
    targets = np.add.outer(people, steps).ravel()
    targets %= size
    return np.repeat(people, len(steps)), targets


def _check_even(degree: float) -> None:
    if degree != int(degree) or degree % 2 or degree < 2:
        raise ValueError(f"degree is {degree:g}, but in this graph it must be an even number of 2 or more")


def _check(size: int, degree: float, most: int) -> None:
    if not 0 <= degree <= most:
        raise ValueError(
            f"each of {size:,} people can have at most {max(most, 0):,} neighbours in this graph, not {degree:g}"
        )


def _refuse_large(size: int) -> None:
    if size > MOST:
        raise ValueError(f"this graph can have at most {MOST:,} nodes, not {size:,}: choose another graph")


def _encode(first: Codes, other: Codes, size: int) -> Codes:
    """Return the code of each link; -1 for a link of an agent to itself."""
    codes = np.minimum(first, other)
    codes *= size
    codes += np.maximum(first, other)
    codes[first == other] = -1
    return codes


def _contains(links: Codes, codes: Codes) -> NDArray[np.bool_]:
    """Return which codes are in the sorted array `links`; much faster than np.isin for few sorted codes and many links."""
    if not len(links):
        return np.zeros(len(codes), dtype=np.bool_)
    return np.asarray(links[np.minimum(np.searchsorted(links, codes), len(links) - 1)] == codes, dtype=np.bool_)


def _pairs_within(parts: Sequence[Codes], size: int) -> Codes:
    """Return all pairs of agents of the same part."""
    pairs = [(group, np.triu_indices(len(group), 1)) for group in parts]
    return np.concatenate([_encode(group[first], group[other], size) for group, (first, other) in pairs])


def _pairs_across(parts: Sequence[Codes], size: int) -> Codes:
    """Return all pairs of agents of different parts."""
    pairs = combinations(parts, 2)
    return np.concatenate(
        [_encode(np.repeat(first, len(other)), np.tile(other, len(first)), size) for first, other in pairs]
    )


def _distinct(draw: Callable[[int], Codes], count: int, possible: int, every: Callable[[], Codes]) -> Codes:
    """Draw `count` different codes of the `possible` ones; each such set has the same chance.

    If they are more than half of all (`every`), the codes that are left out are drawn, because the last ones would
    hardly come up.
    """
    if 2 * count > possible:
        return np.setdiff1d(every(), _draw_distinct(draw, possible - count), assume_unique=True)
    return _draw_distinct(draw, count)


def _draw_distinct(draw: Callable[[int], Codes], count: int) -> Codes:
    """Draw until there are `count` different codes of 0 or more."""
    codes = np.empty(0, dtype=np.int64)
    while len(codes) < count:
        fresh = draw(count - len(codes))
        codes = np.union1d(codes, fresh[fresh >= 0])
    return codes


def _linked(codes: Codes, size: int) -> csr_array:
    """Return the graph with each link in both directions."""
    ends = (codes // size).astype(np.int32), (codes % size).astype(np.int32)
    half = csr_array(coo_array((np.ones(len(codes), dtype=np.int8), ends), shape=(size, size)))
    del ends
    both = half + half.T
    return unweighted(both.indptr, both.indices)


def unweighted(starts: NDArray[Any], heard: NDArray[Any]) -> csr_array:
    """Return the graph of these links, each with the weight 1. starts: (n + 1,) the place of each row's first link."""
    ones = np.ones(len(heard)) if len(heard) < SHARED else np.broadcast_to(1.0, len(heard))
    return csr_array((ones, heard, starts), shape=(len(starts) - 1, len(starts) - 1))


def _compact(graph: csr_array) -> csr_array:
    """Sort columns and use indices of 32 bits: half the memory, and the same arrays however the graph was made."""
    graph.sort_indices()
    parts = (graph.data, graph.indices.astype(np.int32), graph.indptr.astype(np.int32))
    return csr_array(parts, shape=graph.shape)
