"""complete: everybody hears everybody, as around one table."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx

from environments.graphs._base import Graph


@dataclass(frozen=True)
class Complete(Graph):
    """No options."""

    placed = True

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.complete_graph(len(seats))
