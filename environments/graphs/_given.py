"""given: a graph that somebody has in Python (`DebateModel(topology=...)`). It has no spec: the object itself is the option.

Parley treats it as a graph from a file (`file`): nodes with names keep their seats, with parties, personas and weights of links.
A run folder holds it as GraphML, and the record's header names it by the digest of that text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx

from parley.environments.graphs.file import File

GIVEN = "given"


@dataclass(frozen=True, eq=False)
class Given(File):
    """`graph` must not be changed. Two objects are never equal, however alike their graphs: caches hold the object itself.

    `source`: the qualified name of the function that made the graph; empty where a graph was given.
    """

    path: str = field(default="", init=False)
    directed: bool = field(default=False, init=False)
    graph: nx.Graph = field(default_factory=nx.Graph)
    source: str = ""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def title(self) -> str:
        return "topology"

    def read(self) -> nx.Graph:
        return self.graph

    @cached_property
    def graphml(self) -> str:
        """The graph as GraphML: the same graph, with nodes and links in the same order, gives the same text."""
        plain = self.graph.__class__()
        plain.add_nodes_from((str(node), _written(told)) for node, told in self.graph.nodes(data=True))
        plain.add_edges_from((str(one), str(other), _written(told)) for one, other, told in self.graph.edges(data=True))
        return "\n".join(nx.generate_graphml(plain)) + "\n"

    def __str__(self) -> str:
        """How a header names it: `given,digest=0123456789abcdef`."""
        return f"{GIVEN},digest={hashlib.sha256(self.graphml.encode()).hexdigest()[:16]}"


def _written(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as GraphML can hold them: numbers and words as they are, anything else as text; None is left out."""
    plain = {key: value.item() if hasattr(value, "item") else value for key, value in attributes.items()}
    kinds = (bool, int, float, str)
    return {
        str(key): value if isinstance(value, kinds) else str(value) for key, value in plain.items() if value is not None
    }
