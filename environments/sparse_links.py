"""Changes of sparse graphs: which links stay, which are drawn, which are added. All draws come from the given generator.

A graph is a `csr_array` (n, n): row i says whom i hears. None of these functions changes a graph that it is given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TABLE = 1 << 24
"""A table of so many draws is made at once."""


def distances(gaps: Floats) -> Floats:
    """Return (n,) the length of gaps between attitudes, (n,) or (n, d), there the Euclidean length."""
    lengths: Floats = np.abs(gaps) if gaps.ndim == 1 else np.linalg.norm(gaps, axis=1)
    return lengths


def hearers(graph: csr_array) -> Codes:
    """Return (links,) who hears, for each link."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))


def keep_links(graph: csr_array, kept: Flags) -> csr_array:
    """Return the graph with some of its links. kept: (links,)."""
    ends = np.concatenate(([0], np.cumsum(kept)))[graph.indptr].astype(graph.indptr.dtype)
    return csr_array((graph.data[kept], graph.indices[kept], ends), shape=graph.shape)


def pair_graph(sources: Codes, targets: Codes, hearers: int, heard: int) -> csr_array:
    """Return the graph of these pairs, each with the weight 1; equal pairs add up."""
    return csr_array((np.ones(len(sources)), (sources, targets)), shape=(hearers, heard))


def lowest_links(graph: csr_array, ranks: Floats, number: int) -> Flags:
    """Return (links,) which links are among the `number` lowest of their hearer; all of a hearer with fewer links.

    ranks: (links,) the rank of each link, without ties.
    """
    kept, degree = np.ones(len(ranks), dtype=np.bool_), np.diff(graph.indptr)
    rows = np.argsort(degree, kind="stable")
    rows = rows[np.searchsorted(degree[rows], number, side="right") :]
    for group in np.split(rows, np.flatnonzero(np.diff(degree[rows])) + 1) if len(rows) else ():
        places = graph.indptr[group][:, None] + np.arange(degree[group[0]])
        later = np.argpartition(ranks[places], number - 1, axis=1)[:, number:]
        kept[np.take_along_axis(places, later, axis=1)] = False
    return kept


def contains(graph: csr_array, sources: Codes, targets: Codes) -> Flags:
    """Return (pairs,) whether the graph has these links."""
    size, rows = graph.shape[0], np.unique(sources)
    links = np.sort(np.repeat(rows, np.diff(graph.indptr)[rows]) * size + graph.indices[places_of(graph, rows)])
    pairs = sources * size + targets
    is_link: Flags = np.append(links, -1)[np.searchsorted(links, pairs)] == pairs
    return is_link


def places_of(graph: csr_array, rows: Codes) -> Codes:
    """Return the places in `graph.indices` of the links of these rows, one row after the other."""
    degree = np.diff(graph.indptr)[rows]
    first = np.cumsum(degree) - degree
    return np.repeat(graph.indptr[rows] - first, degree) + np.arange(degree.sum())


def add_links(graph: csr_array, sources: Codes, targets: Codes, weights: Floats | None = None) -> csr_array:
    """Return the graph with new links, each after the other links of its hearer. weights: of the new links (default: 1)."""
    order = np.argsort(sources, kind="stable")
    weights = np.ones(len(sources)) if weights is None else weights[order]
    sources, targets = sources[order], targets[order]
    at = graph.indptr[sources + 1]
    more = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=graph.shape[0]))))
    parts = np.insert(graph.data, at, weights), np.insert(graph.indices, at, targets), graph.indptr + more
    return csr_array(parts, shape=graph.shape)


def with_speakers(graph: csr_array, heard_by: list[Codes]) -> csr_array:
    """Return the graph with speakers after its last row, who hear no one. heard_by: who hears each of them."""
    size, count = graph.shape[0], len(heard_by)
    ends = np.append(graph.indptr, np.repeat(graph.indptr[-1:], count))
    larger = csr_array((graph.data, graph.indices, ends), shape=(size + count, size + count))
    speakers = np.repeat(np.arange(size, size + count), [len(rows) for rows in heard_by])
    return add_links(larger, np.concatenate(heard_by), speakers)


def draw_distinct(size: int, rows: int, number: int, generator: np.random.Generator) -> Codes:
    """Return (rows, number) numbers below `size`: different ones in each row, or all of them if there are fewer."""
    if size <= 4 * number:
        return np.argsort(generator.random((rows, size)), axis=1)[:, :number]
    drawn = generator.integers(size, size=(rows, number))
    left = np.arange(rows)
    while len(left):
        order = np.argsort(drawn[left], axis=1, kind="stable")
        ordered = np.take_along_axis(drawn[left], order, axis=1)
        place, column = np.nonzero(ordered[:, 1:] == ordered[:, :-1])  # an equal number was drawn before
        drawn[left[place], order[place, column + 1]] = generator.integers(size, size=len(place))
        left = left[np.unique(place)]
    return drawn


def draw_unlinked(
    graph: csr_array, rows: Codes, pool: Codes, number: int, generator: np.random.Generator
) -> tuple[Codes, Codes]:
    """Draw for each of these rows `number` of the pool whom it does not hear yet, or all if there are fewer (0: all).

    Returns hearers and whom they will hear. Unless `number` is small, a table of all pairs is made.
    """
    if needs_no_table(len(pool), number):
        return _draw_by_rejection(graph, rows, pool, number, generator)
    sources, targets = np.repeat(rows, len(pool)), np.tile(pool, len(rows))
    free = (sources != targets) & ~contains(graph, sources, targets)
    if number:
        ranks = np.where(free, generator.random(len(sources)), np.inf).reshape(len(rows), len(pool))
        lowest = np.argsort(ranks, axis=1)[:, :number]
        drawn = np.zeros_like(ranks, dtype=np.bool_)
        np.put_along_axis(drawn, lowest, True, axis=1)
        free &= drawn.ravel()
    return sources[free], targets[free]


def needs_no_table(pool: int, number: int) -> bool:
    """Whether so few of a pool are drawn that repeated draws find them."""
    return 0 < number * 50 < pool


def _draw_by_rejection(
    graph: csr_array, rows: Codes, pool: Codes, number: int, generator: np.random.Generator
) -> tuple[Codes, Codes]:
    """Draw again whatever cannot be used. Rows that hear most of the pool already may get fewer than `number`."""
    size, accepted = graph.shape[0], np.empty(0, dtype=np.int64)
    for _ in range(100):
        missing = number - np.bincount(np.searchsorted(rows, accepted // size), minlength=len(rows))
        sources = np.repeat(rows, missing)
        if not len(sources):
            break
        targets = pool[generator.integers(len(pool), size=len(sources))]
        free = (sources != targets) & ~contains(graph, sources, targets)
        accepted = np.union1d(accepted, (sources * size + targets)[free])
    return accepted // size, accepted % size
