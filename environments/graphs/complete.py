"""complete: everybody hears everybody, as around one table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from random import Random

import networkx as nx

from parley.environments._social_graph import Pairs
from parley.environments.graphs._base import Graph


@dataclass(frozen=True)
class Complete(Graph):
    """No options."""

    placed = True

    def pairs(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        return tuple(permutations(range(len(seats)), 2))  # a thousand people have a million

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.complete_graph(len(seats))
