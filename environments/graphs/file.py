"""file: a graph of your own, GraphML (.graphml) or an edge list (anything else: two names a line, # begins a comment).

It must have as many nodes as there are people. In GraphML `edgedefault` says whether it is directed; a -> b: a hears b.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from random import Random
from xml.etree.ElementTree import ParseError

import networkx as nx

from environments.graphs._base import Graph


@dataclass(frozen=True)
class File(Graph):
    """`path` of the file; `directed`: read an edge list as who hears whom."""

    path: str
    directed: bool = False

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        graph = self._read()
        if len(graph) != len(seats):
            raise ValueError(f"{self.path} has {len(graph)} nodes for {len(seats)} people: set size={len(graph)}")
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return nx.convert_node_labels_to_integers(graph)

    def _read(self) -> nx.Graph:
        try:
            if self.path.endswith(".graphml"):
                return nx.Graph(found) if not (found := nx.read_graphml(self.path)).is_directed() else nx.DiGraph(found)
            kind = nx.DiGraph if self.directed else nx.Graph
            return nx.read_edgelist(self.path, create_using=kind, data=False)
        except (OSError, EOFError, zlib.error) as error:  # the latter two of a packed file that is cut off or damaged
            raise ValueError(f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}") from error
        except (ParseError, nx.NetworkXError, UnicodeDecodeError, TypeError, KeyError) as error:
            raise ValueError(f"{self.path} is no graph that can be read: {error}") from error
