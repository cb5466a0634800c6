"""Friends attract and foes repel: DeGroot's law on signed links (Altafini 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import AXIS, Floats, Law, check_share

MIDDLE = sum(AXIS) / 2


@dataclass(frozen=True)
class Altafini(Law):
    """Everyone takes the mean of what its friends say and of the opposite of what its foes say.

        y_i(t+1) = own y_i(t) + (1 - own) sum_j a_ij y_j(t) / sum_j |a_ij|,   y = x - 5

    a_ij is the weight of the link: above 0 for a friend, below 0 for a foe. The opposite of an opinion is its mirror
    image at the middle of the axis. `own`: the weight of one's own opinion. Source: Altafini 2013, IEEE Transactions on
    Automatic Control 58(4), 935-946. Departure: steps in place of continuous time.

    In a connected undirected graph (own > 0): if the graph is structurally balanced (two camps, friends within, foes
    across), opinions converge to a bipartite consensus: one value in one camp, its mirror image in the other. If it is
    not, all opinions converge to the middle of the axis, 5.
    """

    own: float = 0.5
    signed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("own", self.own)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        centred = opinions - MIDDLE
        weight = abs(graph) @ np.ones(len(opinions))
        heard = centred.copy()
        np.divide(graph @ centred, weight, out=heard, where=weight > 0)
        return MIDDLE + self.own * centred + (1 - self.own) * heard
