"""file: a graph of your own, GraphML (.graphml) or an edge list (anything else: two names a line, then perhaps a weight, # begins
a comment).

It must have as many nodes as there are people. In GraphML `edgedefault` says whether it is directed; a -> b: a hears b. Links
to oneself are left out.

Nodes keep their names, attributes and the weights of their links in the record. The attribute `party` of a node says who of
which party sits there, `persona` which persona by its name; either all nodes have a party or none. Where nodes are named (by
such an attribute, or by an id that is no mere number) each keeps its seat in all repetitions; else people are put at random.
"""

from __future__ import annotations

import math
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from parley.environments.graphs._base import Graph, Node

NUMBERED = re.compile(r"n?\d+")
PARTY, PERSONA, WEIGHT = "party", "persona", "weight"


@dataclass(frozen=True)
class File(Graph):
    """`path` of the file; `directed`: read an edge list as who hears whom."""

    path: str
    directed: bool = False

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.path

    @property
    def people(self) -> tuple[tuple[str, str], ...]:
        """Party and persona ("": anyone) of each node in the order of the file; empty where nodes have no parties. Errors:
        ValueError where some have one, or a persona, and others have no party."""
        nodes = self.read().nodes(data=True)
        lacking = [name for name, told in nodes if not told.get(PARTY)]
        if len(lacking) == len(nodes) and not any(told.get(PERSONA) for _, told in nodes):
            return ()
        if lacking:
            raise ValueError(
                f"{self.title}: node {lacking[0]} has no party; give all nodes the attribute party, or none"
            )
        return tuple((str(told[PARTY]), str(told.get(PERSONA, ""))) for _, told in nodes)

    @property
    def kept(self) -> bool:
        """Whether nodes are named, so that each keeps its seat."""
        return bool(self.people) or not all(NUMBERED.fullmatch(str(name)) for name in self.read())

    def places(self, seats: tuple[str, ...], rng: Random) -> list[int]:
        return list(range(len(seats))) if self.kept else super().places(seats, rng)

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        if (size := len(self.read())) != len(seats):
            raise ValueError(f"{self.title} has {size} nodes for {len(seats)} people: set size={size}")
        return nx.convert_node_labels_to_integers(self.read())

    def nodes(self, seats: tuple[str, ...], rng: Random) -> tuple[Node, ...]:
        found = dict(zip(self.places(seats, rng), self.read().nodes(data=True), strict=True))
        return tuple(Node(str(found[seat][0]), dict(found[seat][1])) for seat in range(len(seats)))

    def weights(self, seats: tuple[str, ...], rng: Random) -> dict[tuple[int, int], float]:
        graph, places = self.build(seats, rng), self.places(seats, rng)
        found: dict[tuple[int, int], float] = {}
        for one, other, weight in graph.edges(data=WEIGHT):
            if weight is not None:
                found[places[one], places[other]] = float(weight)
                if not graph.is_directed():
                    found[places[other], places[one]] = float(weight)
        return found

    def read(self) -> nx.Graph:
        """The graph as it is in the file, without links to oneself; not to be changed. Errors: ValueError."""
        try:
            stat = os.stat(self.path)
            return _read(self.path, self.directed, stat.st_mtime_ns, stat.st_size)
        except (OSError, EOFError, zlib.error) as error:  # the latter two of a packed file that is cut off or damaged
            raise ValueError(f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}") from error
        except (ParseError, nx.NetworkXError, UnicodeDecodeError, TypeError, KeyError, IndexError) as error:
            raise ValueError(f"{self.path} is no graph that can be read: {error}") from error


@lru_cache(maxsize=4)
def _read(path: str, directed: bool, changed: int, size: int) -> nx.Graph:
    """`changed` and `size` of the file: it is read again when it was written anew."""
    graph = _graphml(path) if path.endswith(".graphml") else _edges(path, nx.DiGraph if directed else nx.Graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    for one, other, weight in graph.edges(data=WEIGHT):
        if weight is not None and not (isinstance(weight, int | float) and 0 < weight < math.inf):
            raise nx.NetworkXError(
                f"the link of {one} and {other} has the weight {weight!r}, which is no number above 0"
            )
    return graph


def _graphml(path: str) -> nx.Graph:
    found = nx.read_graphml(path)
    return nx.DiGraph(found) if found.is_directed() else nx.Graph(found)


def _edges(path: str, kind: Callable[[], nx.Graph]) -> nx.Graph:
    """Two names a line; or three columns, the last a weight; or as networkx writes an edge list, with a dict."""
    data: Any
    for data in (((WEIGHT, float),), True):
        try:
            return nx.read_edgelist(path, create_using=kind, data=data)
        except (IndexError, TypeError):
            continue
    raise TypeError("a line has more than two names and a weight")
