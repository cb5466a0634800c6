"""Two who agree convince their neighbours (Sznajd-Weron and Sznajd 2000)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from parley.agents.laws._meetings import draw_meetings
from parley.agents.laws._states import DiscreteLaw
from parley.agents.laws.base import Floats


@dataclass(frozen=True)
class Sznajd(DiscreteLaw):
    """The Sznajd model: if two linked agents agree, everyone who hears one of them takes their opinion.

    A step is n meetings, one after the other: i is drawn from all agents, j from those that i hears, with equal chances
    and replacement. Weights of links are ignored. Opinions are discrete (`states`, 2: 0 and 10). Source: Sznajd-Weron
    and Sznajd 2000, International Journal of Modern Physics C 11(6), 1157-1165, on a chain; on graphs as Stauffer,
    Sousa and Moss de Oliveira 2000, ibid., 1239-1245. Departure from the first source: two who disagree convince no
    one.

    On a ring of two neighbours each, all agents end with 10 with probability p^2 / (p^2 + (1 - p)^2), where p is the
    share of 10 at the start (Lambiotte and Redner 2008, EPL 82, 18007). NDlib's `SznajdModel` (6.0.1) is the same law
    on undirected graphs; its iteration is one meeting. Meetings touch many agents, so they are a plain loop.
    """

    mutual = True

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        agents, other = draw_meetings(graph, generator)
        hearers = self._hearers(graph)
        ends, people = hearers.indptr.tolist(), hearers.indices
        moved = opinions.copy()
        for pair in zip(agents.tolist(), other.tolist(), strict=True):
            state = moved[pair[0]]
            if state == moved[pair[1]]:
                for agent in pair:
                    moved[people[ends[agent] : ends[agent + 1]]] = state
        return moved

    def _hearers(self, graph: csr_array) -> csr_array:
        """Return whom each agent can convince: those who hear it, except stubborn ones."""
        if self.fixed is not None:
            graph = csr_array(diags_array((~self.fixed).astype(float)) @ graph)
            graph.eliminate_zeros()
        return csr_array(graph.T)
