"""given: a graph that somebody has in Python (`DebateModel(topology=...)`). It has no spec: the object itself is the option.

It is kept as a graph from a file is (`file`): nodes with names keep their seats, with parties, personas and weights of links.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx

from parley.environments.graphs.file import File


@dataclass(frozen=True, eq=False)
class Given(File):
    """`graph` is not to be changed. It is itself and no other, however alike: what is kept of it is kept of this object."""

    path: str = field(default="", init=False)
    directed: bool = field(default=False, init=False)
    graph: nx.Graph = field(default_factory=nx.Graph)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def title(self) -> str:
        return "topology"

    def read(self) -> nx.Graph:
        return self.graph
