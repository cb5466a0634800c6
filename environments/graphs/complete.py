"""complete: everybody hears everybody, as around one table."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import networkx as nx


@dataclass(frozen=True)
class Complete:
    """No options."""

    placed = True

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.complete_graph(len(seats))
