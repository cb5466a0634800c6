"""deffuant: pairs meet along links; who is near enough moves toward the other. A step is n meetings, one after the other.

    |x_i - x_j| < epsilon:   x_i <- x_i + mu (x_j - x_i),   x_j <- x_j + mu (x_i - x_j)

i is drawn from all agents, j from its neighbours, with equal chances and replacement; who has none meets nobody. The mean is
conserved. Source: Deffuant, Neau, Amblard and Weisbuch 2000, Advances in Complex Systems 3, 87-98. With mu = 0.5 it is
NDlib's `AlgorithmicBiasModel` with gamma = 0 (NDlib itself stops at an agent without neighbours). Weights of links are not
looked at.

Meetings of different people do not touch each other, so they are held in lots: everybody has its own meetings in the order in
which they were drawn, and the outcome is that of one after the other, to the last bit.

Options
    epsilon   the confidence, in points of the axis (2: one fifth of it)
    mu        how far each moves, of the way to the other (0.5: they meet in the middle)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Codes, Floats, Law

STRETCHES = 8
"""A step is cut into so many stretches, one after the other: in a short one few meetings have to wait for another."""


@dataclass(frozen=True)
class Deffuant(Law):
    """Bounded confidence, pairwise; see the module's manual page."""

    epsilon: float = 2.0
    mu: float = 0.5

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 < self.mu <= 0.5:
            raise ValueError("epsilon must be 0 or more, and mu above 0 and at most 0.5")

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        one, other = draw_meetings(graph, generator)
        moved = opinions.copy()
        for lot in concurrent_batches(one, other, len(opinions)):
            first, second = one[lot], other[lot]
            gap = moved[second] - moved[first]
            change = np.where(np.abs(gap) < self.epsilon, self.mu * gap, 0.0)
            moved[first] += change
            moved[second] -= change
        return moved


def draw_meetings(graph: csr_array, generator: np.random.Generator) -> tuple[Codes, Codes]:
    """Who meets whom, in order: two arrays of at most n agents."""
    size = graph.shape[0]
    one = generator.integers(size, size=size)
    degree, chance = np.diff(graph.indptr)[one], generator.random(size)
    some = degree > 0
    one = one[some]
    return one, graph.indices[graph.indptr[one] + (chance * degree)[some].astype(np.int64)]


def concurrent_batches(one: Codes, other: Codes, size: int) -> Iterator[Codes]:
    """The meetings in lots: nobody twice in one, and everybody's meetings in their order.

    >>> [lot.tolist() for lot in concurrent_batches(np.array([0, 1, 3]), np.array([1, 2, 4]), 5)]
    [[0, 2], [1]]
    """
    turn = np.empty(size, dtype=np.int64)
    for left in np.array_split(np.arange(len(one)), STRETCHES if len(one) > 1000 else 1):
        while len(left):
            ends, numbers = np.column_stack((one[left], other[left])).ravel(), np.repeat(np.arange(len(left)), 2)
            turn[ends[::-1]] = numbers[::-1]  # written backwards: the earliest meeting of everybody stays
            first = turn[ends].reshape(-1, 2)
            ready = (first == np.arange(len(left))[:, None]).all(axis=1)
            yield left[ready]
            left = left[~ready]
