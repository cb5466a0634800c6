"""Large graphs as sparse arrays, for populations without agent objects: a million people, and whom each hears.

A graph is a `scipy.sparse.csr_array` (n, n) of ones: row i holds whom i hears. Those drawn here are undirected, without links to
oneself and without double ones. `degree` is the mean number of neighbours. The generator is the caller's. Errors: ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

Codes = NDArray[np.int64]
MOST = 100_000
"""More nodes than this are too slow by way of networkx."""


def random_graph(size: int, degree: float, generator: np.random.Generator) -> csr_array:
    """G(n, m), m = n degree / 2 links drawn from all pairs with equal chances. Source: Erdős and Rényi 1959."""
    _check(size, degree, size - 1)

    def draw(count: int) -> Codes:
        return _coded(generator.integers(size, size=count), generator.integers(size, size=count), size)

    links, pairs = round(size * degree / 2), size * (size - 1) // 2
    return _linked(_distinct(draw, links, pairs, lambda: _within([np.arange(size)], size)), size)


def ring(size: int, degree: float) -> csr_array:
    """A ring lattice: everybody linked with the degree / 2 next ones on either side."""
    return _linked(np.sort(_coded(*_lattice(size, degree), size)), size)


def small_world(size: int, degree: float, rewired: float, generator: np.random.Generator) -> csr_array:
    """A ring lattice in which each link, with probability `rewired`, leads from its first end to anybody.

    Source: Watts and Strogatz 1998, Nature 393, 440-442. Departure: all links are rewired at once, not one by one around the
    ring; one that would be there already, or lead to oneself, is drawn again, from anybody where its first end is linked with
    everybody. The number of links stays n degree / 2.
    """
    if not 0 <= rewired <= 1:
        raise ValueError(f"rewired must be from 0 to 1, not {rewired:g}")
    _check(size, degree, size // 2)
    one, other = _lattice(size, degree)
    gone = generator.random(len(one)) < rewired
    taken, left = np.sort(_coded(one[~gone], other[~gone], size)), one[gone]
    while len(left):
        codes = _coded(left, generator.integers(size, size=len(left)), size)
        order = np.argsort(codes, kind="stable")
        new = np.empty(len(left), dtype=bool)
        new[order] = np.diff(codes[order], prepend=-1) > 0
        new &= ~_among(codes, taken)
        taken, left = np.sort(np.concatenate((taken, codes[new]))), left[~new]
        if not new.any():
            full = (np.bincount(np.concatenate((taken // size, taken % size)), minlength=size) == size - 1)[left]
            left[full] = generator.integers(size, size=int(full.sum()))
    return _linked(taken, size)


def blocks(membership: Codes, degree: float, homophily: float, generator: np.random.Generator) -> csr_array:
    """A stochastic block model: the share `homophily` of all links lies within blocks, drawn from the pairs within; the
    others between.

    membership: (n,) the number of each one's block, from 0. Source: Holland, Laskey and Leinhardt 1983, Social Networks 5,
    109-137; the planted partition with its number of links given: within, and between, every pair has the same chance.
    """
    if not 0 <= homophily <= 1:
        raise ValueError(f"homophily must be from 0 to 1, not {homophily:g}")
    size, sizes = len(membership), np.bincount(membership)
    _check(size, degree, size - 1)
    inside = int((sizes * (sizes - 1) // 2).sum())
    within = round(homophily * size * degree / 2)
    between = round(size * degree / 2) - within
    among = size * (size - 1) // 2 - inside
    if within > inside or between > among:
        raise ValueError(f"blocks of {', '.join(map(str, sizes))} have too few pairs for that degree and homophily")
    people, starts = np.argsort(membership, kind="stable"), np.cumsum(sizes) - sizes
    parts = np.split(people, starts[1:])
    chances = sizes * (sizes - 1.0)

    def draw_within(count: int) -> Codes:
        block = generator.choice(len(sizes), size=count, p=chances / chances.sum())
        ends = [people[starts[block] + generator.integers(sizes[block])] for _ in range(2)]
        return _coded(ends[0], ends[1], size)

    def draw_between(count: int) -> Codes:
        one, other = generator.integers(size, size=count), generator.integers(size, size=count)
        codes = _coded(one, other, size)
        return np.where(membership[one] == membership[other], -1, codes)

    found = (
        _distinct(draw_within, within, inside, lambda: _within(parts, size)),
        _distinct(draw_between, between, among, lambda: _between(parts, size)),
    )
    return _linked(np.concatenate(found), size)


def scale_free(size: int, degree: float, generator: np.random.Generator) -> csr_array:
    """Preferential attachment, degree / 2 links a newcomer, by way of networkx. Source: Barabási and Albert 1999, Science
    286, 509-512."""
    _even(degree)
    _check(size, degree, size - 1)
    _refuse_large(size)
    return from_networkx(nx.barabasi_albert_graph(size, int(degree) // 2, seed=int(generator.integers(2**31))))


def from_networkx(graph: nx.Graph, nodes: Sequence[Hashable] | None = None) -> csr_array:
    """Any graph of up to 100,000 nodes, numbered in its own order or that of `nodes`; of a directed one, a to b says that a
    hears b. The data are the `weight` of links, 1 where a link has none. Errors: ValueError for a weight that is not above 0."""
    _refuse_large(len(graph))
    found = csr_array(nx.to_scipy_sparse_array(graph, nodes, dtype=float, format="csr"))
    if not (np.isfinite(found.data).all() and (found.data > 0).all()):
        raise ValueError("the weight of a link must be a number above 0")
    found.setdiag(0)
    found.eliminate_zeros()
    return _narrow(found)


def _lattice(size: int, degree: float) -> tuple[Codes, Codes]:
    _even(degree)
    _check(size, degree, size - 1)
    ahead = np.arange(1, int(degree) // 2 + 1)
    one, step = np.repeat(np.arange(size), len(ahead)), np.tile(ahead, size)
    return one, (one + step) % size


def _even(degree: float) -> None:
    if degree != int(degree) or degree % 2 or degree < 2:
        raise ValueError(f"this graph needs an even degree of 2 or more, not {degree:g}")


def _check(size: int, degree: float, most: int) -> None:
    if not 0 <= degree <= most:
        raise ValueError(
            f"{size:,} people cannot have {degree:g} neighbours each in this graph: at most {max(most, 0):,}"
        )


def _refuse_large(size: int) -> None:
    if size > MOST:
        raise ValueError(f"{size:,} nodes: this graph is built by networkx, up to {MOST:,}")


def _coded(one: Codes, other: Codes, size: int) -> Codes:
    """Each pair as one number, whichever end is named first; -1 for somebody with itself."""
    return np.where(one == other, -1, np.minimum(one, other) * size + np.maximum(one, other))


def _among(codes: Codes, taken: Codes) -> NDArray[np.bool_]:
    """Which codes stand in a sorted array."""
    if not len(taken):
        return np.zeros(len(codes), dtype=bool)
    places = np.minimum(np.searchsorted(taken, codes), len(taken) - 1)
    return np.asarray(taken[places] == codes, dtype=np.bool_)


def _within(parts: Sequence[Codes], size: int) -> Codes:
    """All pairs of people of one part, for every part."""
    pairs = [(part, np.triu_indices(len(part), 1)) for part in parts]
    return np.concatenate([_coded(part[one], part[other], size) for part, (one, other) in pairs])


def _between(parts: Sequence[Codes], size: int) -> Codes:
    """All pairs of people of two parts."""
    pairs = combinations(parts, 2)
    return np.concatenate([_coded(np.repeat(one, len(other)), np.tile(other, len(one)), size) for one, other in pairs])


def _distinct(draw: Callable[[int], Codes], count: int, of: int, every: Callable[[], Codes]) -> Codes:
    """`count` different codes out of the `of` that `draw` draws from: each such set has the same chance.

    Where they are more than half of them (`every`), those left out are drawn: the last ones would hardly ever come up.
    """
    if 2 * count > of:
        return np.setdiff1d(every(), _drawn(draw, of - count), assume_unique=True)
    return _drawn(draw, count)


def _drawn(draw: Callable[[int], Codes], count: int) -> Codes:
    """The first `count` different codes of 0 or more that are drawn."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        fresh = draw(count - len(found))
        found = np.sort(np.concatenate((found, fresh[fresh >= 0])))
        found = found[np.diff(found, prepend=-1) > 0]
    return found


def _linked(codes: Codes, size: int) -> csr_array:
    """Both ways of every link."""
    one, other = (codes // size).astype(np.int32), (codes % size).astype(np.int32)
    rows, columns = np.concatenate((one, other)), np.concatenate((other, one))
    return _narrow(csr_array(coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))))


def _narrow(graph: csr_array) -> csr_array:
    """Columns in order and indices of 32 bits: half the memory, and the same arrays however the graph was made."""
    graph.sort_indices()
    parts = (graph.data, graph.indices.astype(np.int32), graph.indptr.astype(np.int32))
    return csr_array(parts, shape=graph.shape)
