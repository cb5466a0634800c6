"""Everyone copies a random neighbour (Clifford and Sudbury 1973; Holley and Liggett 1975)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._meetings import concurrent_batches, draw_meetings
from parley.agents.laws._states import DiscreteLaw
from parley.agents.laws.base import Floats


@dataclass(frozen=True)
class Voter(DiscreteLaw):
    """The voter model: an agent takes the opinion of a random neighbour: x_i <- x_j.

    A step is n meetings, one after the other: i is drawn from all agents, j from those that i hears, with equal chances
    and replacement. Weights of links are ignored. Opinions are discrete (`states`, 2: 0 and 10). Sources: Clifford and
    Sudbury 1973, Biometrika 60(3), 581-588; Holley and Liggett 1975, Annals of Probability 3(4), 643-663.

    On a connected undirected graph the mean weighted by degree is conserved in expectation, and all agents end with one
    opinion: with 10 as often as 10 has a share of the degrees at the start. NDlib's `VoterModel` (6.0.1) is the same
    law; its iteration is one meeting.
    """

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        agents, other = draw_meetings(graph, generator)
        if self.fixed is not None:
            free = ~self.fixed[agents]
            agents, other = agents[free], other[free]
        moved = opinions.copy()
        for batch in concurrent_batches(len(opinions), agents, other):
            moved[agents[batch]] = moved[other[batch]]
        return moved
