"""What graphs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar

import networkx as nx

from environments._society import Pairs


class Graph(ABC):
    """`placed`: the graph itself says who of which party sits where."""

    placed: ClassVar[bool] = False

    def fits(self, seats: tuple[str, ...]) -> None:
        """Errors: ValueError where there can be no such graph of these people, as far as that is known before it is drawn."""
        return

    def pairs(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """Who hears whom, by seat number, sorted. Errors: ValueError as of `build`."""
        places, edges = list(range(len(seats))), self.build(seats, rng)
        if not self.placed:
            rng.shuffle(places)
        pairs = [(places[source], places[target]) for source, target in edges.edges]
        both = [] if edges.is_directed() else [(target, source) for source, target in pairs]
        return tuple(sorted([*pairs, *both]))

    @abstractmethod
    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        """The graph on the seat numbers from 0. Errors: ValueError where it cannot be had."""
