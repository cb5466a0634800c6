"""Everyone takes the mean of what it hears (DeGroot 1974), perhaps with stubborn agents (Ghaderi and Srikant 2014)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import Floats, Law, People, along, check_share, neighbour_mean


@dataclass(frozen=True)
class DeGroot(Law):
    """Everyone takes the mean of what it hears: x(t+1) = own x(t) + (1 - own) W x(t).

    `own`: the weight of one's own opinion. Source: DeGroot 1974, Journal of the American Statistical Association
    69(345), 118-121. In a strongly connected graph opinions converge (for own > 0 in any, for own = 0 if W is
    aperiodic) to v x(0), where v is the left eigenvector of W with eigenvalue 1 and sum 1: in an undirected graph the
    mean weighted by degree.

    Where nodes have a `stubbornness` s_i, from 0 to 1, agent i holds on to its first opinion by this share (`begin` sets
    `hold`, s, and `initial`, x(0)):

        x_i(t+1) = (1 - s_i) (own x_i(t) + (1 - own) (W x(t))_i) + s_i x_i(0)

    Source: Ghaderi and Srikant 2014, Automatica 50(12), 3209-3215, whose law is that of own = 0 with s_i = K_i / (d_i +
    K_i), K_i the stubbornness and d_i the degree. An agent with s_i = 1 never moves.
    """

    own: float = 0.5
    hold: Floats | None = field(default=None, compare=False, repr=False)
    initial: Floats | None = field(default=None, compare=False, repr=False)
    name = "degroot"
    reads = ("stubbornness",)
    vectors = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("own", self.own)

    def begin(self, opinions: Floats, people: People) -> DeGroot:
        hold = people.traits.get("stubbornness")
        return self if hold is None else replace(self, hold=along(hold, opinions), initial=opinions.copy())

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        moved = neighbour_mean(opinions, graph)
        moved *= 1 - self.own
        moved += self.own * opinions
        if self.hold is None or self.initial is None:
            return moved
        return (1 - self.hold) * moved + self.hold * self.initial
