"""What graphs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar

import networkx as nx


class Graph(ABC):
    """`placed`: the graph itself says who of which party sits where."""

    placed: ClassVar[bool] = False

    def fits(self, seats: tuple[str, ...]) -> None:
        """Errors: ValueError where there can be no such graph of these people, as far as that is known before it is drawn."""
        return

    @abstractmethod
    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        """The graph on the seat numbers from 0. Errors: ValueError where it cannot be had."""
