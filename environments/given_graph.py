"""given: a graph that is a Python object; it has no spec.

`DebateModel(topology=...)`: the object itself is the option.

Parley treats it like a graph from a file: nodes with names keep their seats, parties, personas, weights and periods. A run
folder holds the graph as GraphML, and the header of the record names it by the digest of that text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx

from parley.environments.graph_files import write_graphml
from parley.environments.graphs import File

GIVEN = "given"


@dataclass(frozen=True, eq=False)
class Given(File):
    """A graph object, which must not be changed. Two objects are never equal, because caches hold the object itself.

    `source`: the qualified name of the function that made the graph; empty if the graph itself was given.
    """

    path: str = field(default="", init=False)
    directed: bool = field(default=False, init=False)
    node_file: str = field(default="", init=False)
    columns: tuple[str, ...] = field(default=(), init=False)
    names: str = field(default="", init=False)
    mapped: bool = field(default=False, init=False)
    graph: nx.Graph = field(default_factory=nx.Graph)
    source: str = ""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def title(self) -> str:
        return "topology"

    def read(self) -> nx.Graph:
        return self.graph

    def table(self) -> None:
        return None

    @cached_property
    def graphml(self) -> str:
        """The graph as GraphML: the same nodes and links in the same order give the same text."""
        plain = self.graph.__class__()
        plain.add_nodes_from((str(node), _plain(attributes)) for node, attributes in self.graph.nodes(data=True))
        plain.add_edges_from((str(a), str(b), _plain(attributes)) for a, b, attributes in self.graph.edges(data=True))
        return write_graphml(plain)

    def __str__(self) -> str:
        """Return its name in a header: `given,digest=0123456789abcdef`."""
        return f"{GIVEN},digest={hashlib.sha256(self.graphml.encode()).hexdigest()[:16]}"


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes for GraphML: numbers and texts as they are, the rest as text, without None."""
    values = {str(key): value.item() if hasattr(value, "item") else value for key, value in attributes.items()}
    return {
        key: value if isinstance(value, bool | int | float | str) else str(value)
        for key, value in values.items()
        if value is not None
    }
