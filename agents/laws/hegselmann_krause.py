"""Bounded confidence, all at once (Hegselmann and Krause 2002), perhaps with a bound for each agent (Lorenz 2010)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import Floats, Law, People

LINKS = 1 << 18
"""The law looks at about so many links at once, so that they stay in the processor's cache."""


@dataclass(frozen=True)
class HegselmannKrause(Law):
    """Bounded confidence, synchronous: everyone takes the mean of the opinions near its own, all at once.

        x_i(t+1) = mean of x_j(t) over j = i and the neighbours j of i with |x_j(t) - x_i(t)| <= epsilon

    `epsilon`: the confidence, in points of the axis. In several dimensions |.| is the Euclidean distance. Weights of
    links are ignored. Source: Hegselmann and Krause 2002, Journal of Artificial Societies and Social Simulation 5(3),
    2, where everyone is everyone's neighbour. On a complete graph opinions keep their order, and stop after finitely
    many steps. NDlib's `HKModel` (6.0.1) differs: it goes through N agents drawn at random, leaves the agent itself out
    of the mean, takes those nearer than epsilon (<), and moves only the last one drawn.

    Where nodes have a `bound`, it is the epsilon of that agent (`begin` sets `bound`). Source: Lorenz 2010, Complexity
    15(4), 43-52.
    """

    epsilon: float = 2.0
    bound: Floats | None = field(default=None, compare=False, repr=False)
    reads = ("bound",)
    vectors = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < 0:
            raise ValueError(f"epsilon is {self.epsilon:g}, but must be 0 or more")

    def begin(self, opinions: Floats, people: People) -> HegselmannKrause:
        return replace(self, bound=people.traits.get("bound"))

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        columns = np.ascontiguousarray(np.atleast_2d(opinions.T))
        moved = columns.copy()
        for rows in _row_blocks(graph.indptr):
            moved[:, rows] = self._means(columns, graph, rows)
        return moved[0] if opinions.ndim == 1 else np.ascontiguousarray(moved.T)

    def _means(self, columns: Floats, graph: csr_array, rows: slice) -> Floats:
        """Return (d, rows) the next opinions of some agents. columns: (d, n) the opinions of all."""
        ends = graph.indptr[rows.start : rows.stop + 1]
        degree, links = np.diff(ends), slice(ends[0], ends[-1])
        others = [column[graph.indices[links]] for column in columns]
        bound = self.epsilon if self.bound is None else np.repeat(self.bound[rows], degree)
        gaps = [theirs - np.repeat(column[rows], degree) for theirs, column in zip(others, columns, strict=True)]
        near = (length(gaps) <= bound).astype(float)
        some, total, count = degree > 0, columns[:, rows].copy(), np.ones(len(degree))
        if some.any():
            starts = (ends[:-1] - ends[0])[some]
            for place, theirs in enumerate(others):
                total[place, some] += np.add.reduceat(theirs * near, starts)
            count[some] += np.add.reduceat(near, starts)
        return total / count


def length(gaps: list[Floats]) -> Floats:
    """Return the Euclidean length of gaps, given by dimension.

    >>> length([np.array([3.0, -1.0]), np.array([4.0, 0.0])]).tolist()
    [5.0, 1.0]
    """
    if len(gaps) == 1:
        return np.abs(gaps[0])
    lengths: Floats = np.sqrt(sum(gap * gap for gap in gaps))
    return lengths


def _row_blocks(ends: np.ndarray) -> Iterator[slice]:
    """Yield consecutive rows that together have about LINKS links (more if a single row has more)."""
    start, size = 0, len(ends) - 1
    while start < size:
        stop = max(int(np.searchsorted(ends, ends[start] + LINKS, side="right")) - 1, start + 1)
        yield slice(start, min(stop, size))
        start = stop
