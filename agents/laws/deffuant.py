"""Bounded confidence in pairs (Deffuant and others 2000), perhaps with a bound for each agent (Weisbuch 2002)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._meetings import pairs_in_turn
from parley.agents.laws.base import LARGE, Codes, Floats, Law, People, along

NEVER = -1.0
"""The bound of an agent that moves toward no one."""


@dataclass(frozen=True)
class Deffuant(Law):
    """Bounded confidence, pairwise: linked agents meet, and if they are near enough, each moves toward the other.

        |x_i - x_j| < epsilon:   x_i <- x_i + mu (x_j - x_i),   x_j <- x_j + mu (x_i - x_j)

    A step is n meetings, one after the other: i is drawn from all agents, j from its neighbours, with equal chances and
    replacement; an agent without neighbours meets no one. The mean is conserved. In several dimensions |.| is the
    Euclidean distance. Weights of links are ignored. Source: Deffuant, Neau, Amblard and Weisbuch 2000, Advances in
    Complex Systems 3, 87-98. With mu = 0.5 it is NDlib's `AlgorithmicBiasModel` with gamma = 0 (NDlib itself stops at
    an agent without neighbours). Meetings are computed in batches, or from a million people on by a
    compiled loop, with exactly the outcome of one after the other.

    epsilon   the confidence, in points of the axis
    mu        how far each moves, as a share of the way to the other (0.5: they meet in the middle)

    Where nodes have a `bound`, it is the epsilon of that agent: i moves if the gap is below its own bound, and j if it
    is below that of j, so the mean is not conserved (`begin` sets `bound`). Source: Weisbuch, Deffuant, Amblard and
    Nadal 2002, Complexity 7(3), 55-63.
    """

    epsilon: float = 2.0
    mu: float = 0.5
    bound: Floats | None = field(default=None, compare=False, repr=False)
    reads = ("bound",)
    vectors = True
    mutual = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < 0 or not 0 < self.mu <= 0.5:
            raise ValueError("epsilon must be 0 or more, and mu must be above 0 and at most 0.5")

    def begin(self, opinions: Floats, people: People) -> Deffuant:
        bound = people.traits.get("bound")
        if people.stubborn is not None:
            bound = np.where(people.stubborn, NEVER, self.epsilon if bound is None else bound)
        return replace(self, bound=bound)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        moved = opinions.copy()
        if len(moved) >= LARGE and moved.ndim == 1:
            from parley.agents.laws._compiled import compiled_meetings

            bound = np.broadcast_to(float(self.epsilon), len(moved)) if self.bound is None else self.bound
            compiled_meetings(moved, graph, generator, bound, self.mu)
            return moved
        for first, second, gap, distance in pairs_in_turn(moved, graph, generator):
            change = self._change(gap, distance, first)
            moved[first] += change
            moved[second] -= change if self.bound is None else self._change(gap, distance, second)
        return moved

    def _change(self, gap: Floats, distance: Floats, movers: Codes) -> Floats:
        """Return how far the movers go along the gap: not at all, if it is too wide for them."""
        near = distance < (self.epsilon if self.bound is None else self.bound[movers])
        return np.where(along(near, gap), self.mu * gap, 0.0)
