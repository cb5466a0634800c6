"""degroot: everybody takes the mean of what it hears.

    x(t+1) = own x(t) + (1 - own) W x(t),     W: the graph with rows that sum to 1

Source: DeGroot 1974, Journal of the American Statistical Association 69(345), 118-121. In a strongly connected graph opinions
converge (for own > 0 in any, for own = 0 where W is aperiodic) to v x(0), v the left eigenvector of W with eigenvalue 1 and
sum 1: in an undirected graph the mean by degree.

Options
    own   the weight of one's own opinion (0.5)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Floats, Law, interval_share, neighbour_mean


@dataclass(frozen=True)
class DeGroot(Law):
    """Iterated averaging; see the module's manual page."""

    own: float = 0.5

    def __post_init__(self) -> None:
        interval_share("own", self.own)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        return self.own * opinions + (1 - self.own) * neighbour_mean(opinions, graph)
