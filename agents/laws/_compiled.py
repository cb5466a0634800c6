"""Compiled loops for large populations: the mean that everyone hears, and meetings one after the other.

Both give the same bytes as the arrays of NumPy and SciPy that smaller populations use (base.py, _meetings.py). numba
compiles them in about a second when a process first needs them. Indices are unsigned there, because numba would otherwise look
whether each is below 0: half of the time. Parts of a loop run in threads, as many as
`NUMBA_NUM_THREADS` says (default: the processors of this process); their number does not change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import config, njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from parley.agents.laws.base import Codes, Floats

PART = 1 << 18
"""Rows or meetings of a part."""
NOBODY = -1
"""Stands in place of the other agent of a meeting, if an agent has no neighbours."""


def compiled_means(opinions: Floats, graph: csr_array, spoken: Floats) -> Floats:
    """Return (n,) the weighted mean of what each agent hears; its own opinion if it hears no one."""
    means, links = np.empty_like(opinions), _arrays(graph)

    def write(first: int, last: int) -> None:
        _write_means(*links, spoken, opinions, means, first, last)

    for _ in _in_parts(len(means), write):
        pass
    return means


def compiled_meetings(
    moved: Floats, graph: csr_array, generator: np.random.Generator, bound: Floats, mu: float
) -> None:
    """Draw n meetings as `draw_meetings` does, and move the opinions `moved` in place, one meeting after the other.

    bound: (n,) an agent moves if the gap is below its bound. mu: how far, as a share of the gap.
    """
    size, (starts, heard, _) = len(moved), _arrays(graph)
    agents, chances = generator.integers(size, size=size), generator.random(size)

    def find(first: int, last: int) -> tuple[Codes, NDArray[np.int32]]:
        other = np.empty(last - first, dtype=np.int32)
        _find_partners(starts, heard, agents[first:last], chances[first:last], other)
        return agents[first:last], other

    for some, other in _in_parts(size, find):
        _meet(moved, some, other, bound, mu)


def _arrays(graph: csr_array) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    return graph.indptr, graph.indices, graph.data


def _in_parts(size: int, work: Callable[[int, int], Any]) -> Iterator[Any]:
    """Yield what `work` returns for each part of 0 to `size`, in order; threads work on the next parts meanwhile."""
    ends = [*range(0, size, PART), size]
    with ThreadPoolExecutor(config.NUMBA_NUM_THREADS) as pool:
        yield from pool.map(lambda part: work(*part), pairwise(ends))


@njit(nogil=True)
def _write_means(
    starts: NDArray[Any],
    heard: NDArray[Any],
    weights: Floats,
    spoken: Floats,
    opinions: Floats,
    means: Floats,
    first: int,
    last: int,
) -> None:
    """Write the means of the rows from `first` to `last` (without it). Sums are in the order of links, as in SciPy."""
    for row in range(first, last):
        total, weight = 0.0, 0.0
        for place in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            total += weights[place] * spoken[np.uint32(heard[place])]
            weight += weights[place]
        means[row] = total / weight if weight > 0 else opinions[row]


@njit(nogil=True)
def _find_partners(
    starts: NDArray[Any], heard: NDArray[Any], agents: Codes, chances: Floats, other: NDArray[np.int32]
) -> None:
    for meeting in range(len(agents)):
        agent = np.uint64(agents[meeting])
        start, degree = np.uint64(starts[agent]), starts[agent + np.uint64(1)] - starts[agent]
        other[meeting] = heard[start + np.uint64(chances[meeting] * degree)] if degree else NOBODY


@njit(nogil=True)
def _meet(moved: Floats, agents: Codes, others: NDArray[np.int32], bound: Floats, mu: float) -> None:
    for meeting in range(len(agents)):
        if others[meeting] != NOBODY:
            agent, other = np.uint64(agents[meeting]), np.uint64(others[meeting])
            gap = moved[other] - moved[agent]
            if abs(gap) < bound[agent]:
                moved[agent] += mu * gap
            if abs(gap) < bound[other]:
                moved[other] -= mu * gap
