"""hegselmann_krause: everybody takes the mean of those near to it, itself among them; all at once.

    x_i(t+1) = mean of x_j(t) over j = i and the neighbours j of i with |x_j(t) - x_i(t)| <= epsilon

Source: Hegselmann and Krause 2002, Journal of Artificial Societies and Social Simulation 5(3), 2; there everybody is
everybody's neighbour. On a complete graph opinions keep their order, and stand still after finitely many steps. Weights of
links are not looked at.

Not NDlib's `HKModel` (6.0.1), which goes through N agents drawn at random, leaves the agent itself out of the mean, takes
those nearer than epsilon (<), and moves only the last one drawn.

Options
    epsilon   the confidence, in points of the axis (2: one fifth of it)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Floats, Law

LINKS = 1 << 18
"""About so many links are looked at at once: what is made of them stays in the processor's cache."""


@dataclass(frozen=True)
class HegselmannKrause(Law):
    """Bounded confidence, synchronous; see the module's manual page."""

    epsilon: float = 2.0

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise ValueError(f"epsilon must be 0 or more, not {self.epsilon:g}")

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        moved = opinions.copy()
        for rows in _blocks(graph.indptr):
            moved[rows] = self._means(opinions, graph, rows)
        return moved

    def _means(self, opinions: Floats, graph: csr_array, rows: slice) -> Floats:
        own, ends = opinions[rows], graph.indptr[rows.start : rows.stop + 1]
        degree, links = np.diff(ends), slice(ends[0], ends[-1])
        others = opinions[graph.indices[links]]
        near = (np.abs(others - np.repeat(own, degree)) <= self.epsilon).astype(float)
        some, total, count = degree > 0, own.copy(), np.ones(len(own))
        if some.any():
            starts = (ends[:-1] - ends[0])[some]
            total[some] += np.add.reduceat(others * near, starts)
            count[some] += np.add.reduceat(near, starts)
        return total / count


def _blocks(ends: np.ndarray) -> Iterator[slice]:
    """Consecutive rows, together of about LINKS links (more where one row alone has more)."""
    start, size = 0, len(ends) - 1
    while start < size:
        stop = max(int(np.searchsorted(ends, ends[start] + LINKS, side="right")) - 1, start + 1)
        yield slice(start, min(stop, size))
        start = stop
