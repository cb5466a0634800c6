"""The links of a population that exist in some steps only, by `start`, `end` and `spells` of a graph (link_attributes.py)."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments.link_attributes import SIGN, WEIGHT, is_temporal, simple_graph, spells_of
from parley.environments.sparse_links import Codes, Flags, Floats


class LinkTimetable(NamedTuple):
    """Each period of each link: who hears (`sources`) whom (`targets`), the weight, the first and the last step.

    Weights are below 0 for hostile links. Steps may be infinite. Two periods of one link neither meet nor overlap.
    """

    sources: Codes
    targets: Codes
    weights: Floats
    first: Floats
    last: Floats

    @classmethod
    def of(cls, graph: nx.Graph) -> LinkTimetable | None:
        """Return the periods of a graph's links, its nodes numbered in their order; None where no link has one.

        Errors: ValueError on a weight, a sign or a period that cannot be.
        """
        if not is_temporal(graph):
            return None
        places = {node: place for place, node in enumerate(graph)}
        rows = [
            (places[source], places[other], (data.get(WEIGHT) or 1.0) * (data.get(SIGN) or 1), *spell.bounds)
            for source, other, data in simple_graph(graph).to_directed().edges(data=True)
            for spell in spells_of(data)
        ]
        columns = np.array(sorted(rows), dtype=float).T
        return cls(columns[0].astype(np.int64), columns[1].astype(np.int64), *columns[2:])

    def at_start(self, size: int) -> csr_array:
        """Return the links of the first step as (size, size): row i says whom i hears, with weights."""
        now = (self.first <= 1) & (self.last >= 1)
        parts = self.weights[now], (self.sources[now], self.targets[now])
        return csr_array(parts, shape=(size, size))

    def gone(self, step: int) -> tuple[Codes, Codes]:
        """Return the links that exist no more from a step on, as hearers and whom they hear."""
        return self._links(self.last == step - 1)

    def new(self, step: int) -> tuple[Codes, Codes, Floats]:
        """Return the links that exist from a step on, with their weights."""
        begins = self.first == step
        return *self._links(begins), self.weights[begins]

    def _links(self, chosen: Flags) -> tuple[Codes, Codes]:
        return self.sources[chosen], self.targets[chosen]
