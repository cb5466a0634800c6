"""What graphs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments._social_graph import Pairs
from parley.environments.sparse import Codes


class Node(NamedTuple):
    """A node of a graph that somebody made: its name and what is known of it (texts, numbers, true or false)."""

    name: str
    attributes: Mapping[str, Any]


class Graph(ABC):
    """`placed`: the graph itself says who of which party sits where."""

    placed: ClassVar[bool] = False

    @property
    def people(self) -> tuple[tuple[str, str], ...]:
        """Party and persona of each node, for a graph that has people of its own; empty for all others."""
        return ()

    def fits(self, seats: tuple[str, ...]) -> None:
        """Errors: ValueError where there can be no such graph of these people, as far as that is known before it is drawn."""
        return

    def pairs(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """Who hears whom, by seat number, sorted. Errors: ValueError as of `build`."""
        edges = self.build(seats, rng)
        places = self.places(seats, rng)
        pairs = [(places[source], places[target]) for source, target in edges.edges]
        both = [] if edges.is_directed() else [(target, source) for source, target in pairs]
        return tuple(sorted([*pairs, *both]))

    def places(self, seats: tuple[str, ...], rng: Random) -> list[int]:
        """The seat of each node."""
        places = list(range(len(seats)))
        if not self.placed:
            rng.shuffle(places)
        return places

    def nodes(self, seats: tuple[str, ...], rng: Random) -> tuple[Node, ...]:
        """The node of each seat, by the draws of `pairs`; empty where nodes have no names of their own."""
        return ()

    def weights(self, seats: tuple[str, ...], rng: Random) -> dict[tuple[int, int], float]:
        """The weights of links, by the draws and seat numbers of `pairs`; empty where links have none."""
        return {}

    @abstractmethod
    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        """The graph on the seat numbers from 0. Errors: ValueError where it cannot be had."""

    def array(self, members: Codes, generator: np.random.Generator) -> csr_array | None:
        """The same graph for up to millions, as a sparse array (environments/sparse.py); None where only `build` draws it.

        members: (n,) the number of each one's party, from 0. The draws are others than those of `build`. Errors: ValueError.
        """
        return None
