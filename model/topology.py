"""Who hears whom, as an object: a graph that somebody has in Python becomes the network of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import networkx as nx
from scipy.sparse import issparse

from parley.environments.graphs._given import Given
from parley.environments.network import Network
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

Topology: TypeAlias = Any
"""A graph of networkx, a sparse array, or a function of the number of agents that returns one of these."""


def unlinked(scenario: Scenario, topology: Topology | None) -> dict[str, str]:
    """The fields with which a scenario can be made before its links are known. Errors: UserError where it is no network."""
    if topology is None:
        return {}
    if not isinstance(scenario.build_environment(), Network):
        raise UserError(f"topology is for scenarios of a network (preset network), not for {scenario.name}")
    return {"graph": "complete"}


def on_topology(scenario: Scenario, topology: Topology | None) -> Scenario:
    """The scenario on these links, with as many agents as nodes, of the nodes' parties where they have some.

    Errors: UserError where the graph is none that it can be held on.
    """
    if topology is None:
        return scenario
    size = int(scenario.options.get("size", Network.size))
    graph = Given(_graph(topology if isinstance(topology, nx.Graph) or issparse(topology) else topology(size)))
    options: dict[str, Any] = {**scenario.options, "graph": graph, "size": len(graph.graph)}
    try:
        if graph.people:
            options["parties"] = tuple(dict.fromkeys(party for party, _ in graph.people))
    except ValueError as error:
        raise UserError(str(error)) from error
    found = replace(scenario, options=options)
    found.build_environment()
    return found


def _graph(topology: Any) -> nx.Graph:
    """A graph of networkx, without links to oneself."""
    if issparse(topology):
        topology = nx.from_scipy_sparse_array(topology, create_using=nx.DiGraph)
    if not isinstance(topology, nx.Graph):
        raise UserError(f"topology must be a graph of networkx or a sparse array, not a {type(topology).__name__}")
    graph = nx.DiGraph(topology) if topology.is_directed() else nx.Graph(topology)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph
