"""Who hears whom in a population: the graphs of environments/graphs by the same names and options, or one of networkx."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Codes
from parley.environments import sparse
from parley.environments.graphs import GRAPHS
from parley.environments.graphs._base import Graph
from parley.environments.graphs.file import PARTY, File
from parley.llm.errors import UserError
from parley.llm.spec import parse_spec


@dataclass(frozen=True)
class Chosen:
    """A graph before it is built. `own` is one that somebody made, from a file or from networkx: it says who its nodes are."""

    name: str
    options: Graph | None = None
    own: nx.Graph | None = None

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes of one's own graph, in their order."""
        return [] if self.own is None else list(map(str, self.own))

    @property
    def parties(self) -> list[str]:
        """The party of each node of one's own graph; empty where they have none. Errors: UserError where some have none."""
        told = [] if self.own is None else [(str(node), found.get(PARTY)) for node, found in self.own.nodes(data=True)]
        if lacking := [node for node, party in told if not party]:
            if len(lacking) < len(told):
                raise UserError(
                    f"graph {self.name}: node {lacking[0]} has no party; give all nodes the attribute, or none"
                )
            return []
        return [str(party) for _, party in told]


def chosen(graph: str | nx.Graph, agents: int) -> Chosen:
    """Return what a spec, NAME[,option=value...], or a graph of networkx stands for, for so many people. Errors: UserError."""
    if isinstance(graph, nx.Graph):
        return _fitting(Chosen("of networkx", own=graph), agents)
    try:
        options: Graph = GRAPHS.open(graph)
        own = options.read() if isinstance(options, File) else None
    except ValueError as error:
        raise UserError(str(error)) from error
    return _fitting(Chosen(parse_spec(graph).name, options, own), agents)


def _fitting(graph: Chosen, agents: int) -> Chosen:
    size = agents if graph.own is None else len(graph.own)
    if size != agents:
        raise UserError(f"graph {graph.name}: it has {size:,} nodes for {agents:,} people; set agents to {size}")
    return graph


def linked(graph: Chosen, members: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    """Return who hears whom: (n, n), a row for each person; data are weights. members: (n,) places in `names` of the parties.

    Errors: UserError on what cannot be built.
    """
    try:
        if graph.own is not None:
            return sparse.from_networkx(graph.own)
        assert graph.options is not None
        fast = graph.options.array(members, generator)
        return fast if fast is not None else _drawn(graph.options, members, names, generator)
    except ValueError as error:
        raise UserError(f"graph {graph.name}: {error}") from error


def _drawn(graph: Graph, members: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    """Any other, by way of networkx."""
    if len(members) > sparse.MOST:
        raise ValueError(f"{len(members):,} nodes: this graph is built by networkx, up to {sparse.MOST:,}")
    seats = tuple(names[code] for code in members)
    graph.fits(seats)
    built = graph.build(seats, Random(int(generator.integers(2**63))))
    return sparse.from_networkx(built, range(len(seats)))
