"""Who hears whom, as an object: a graph that somebody has in Python becomes the network of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import networkx as nx
from scipy.sparse import issparse

from parley.environments.graphs._given import GIVEN, Given
from parley.environments.network import Network
from parley.llm.errors import UserError
from parley.model.environment_spec import EnvironmentSpec
from parley.model.scenario import Scenario, load_preset
from parley.model.validation import check_scenario

Topology: TypeAlias = Any
"""A graph of networkx, a sparse array, or a function of the number of agents that returns one of these."""
GRAPHS = "a graph of networkx or a sparse array"
WANTED = f"{GRAPHS}, or a function of the number of agents that returns one"
FILE = "topology.graphml"
"""The graph that was given, in a run folder."""


def _complete_links(scenario: Scenario) -> dict[str, str]:
    """The fields with which a scenario is read before its links are known. Errors: UserError where it is no network."""
    if not isinstance(scenario.environment, Network):
        raise UserError(f"topology is for scenarios of a network (preset network), not for {scenario.name}")
    return {"graph": "complete"}


def on_topology(scenario: Scenario, topology: Topology) -> Scenario:
    """The scenario on these links, with as many agents as nodes, of the nodes' parties where they have some.

    Errors: UserError where the graph is none that it can be held on.
    """
    size = int(scenario.environment_spec.options.get("size", Network.size))
    if isinstance(topology, nx.Graph) or issparse(topology):
        graph = Given(_graph(topology))
    elif callable(topology):
        graph = Given(_graph(topology(size)), source=qualified_name(topology))
    else:
        raise UserError(f"topology must be {WANTED}, not a {type(topology).__name__}")
    spec = scenario.environment_spec
    options: dict[str, Any] = {**spec.options, "graph": graph, "size": len(graph.graph)}
    try:
        if graph.people:
            options["parties"] = tuple(dict.fromkeys(party for party, _ in graph.people))
    except ValueError as error:
        raise UserError(str(error)) from error
    linked = scenario.replace(environment_spec=EnvironmentSpec(spec.name, options))
    check_scenario(linked)
    return linked


def scenario_on(preset: str | Scenario, settings: Mapping[str, Any], topology: Topology | None) -> Scenario:
    """The scenario, or the preset of this name, with some fields set, on a topology where one is given. Errors: UserError."""
    if topology is None:
        return preset.with_settings(settings) if isinstance(preset, Scenario) else load_preset(preset, settings)
    scenario = preset if isinstance(preset, Scenario) else load_preset(preset)
    return on_topology(scenario.with_settings({**_complete_links(scenario), **settings}), topology)


def qualified_name(thing: Any) -> str:
    """`module.name` of a function or a class; of another callable its class's."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def given_graph(scenario: Scenario) -> Given | None:
    """The graph object that a scenario holds, if it holds one."""
    graph = scenario.environment_spec.options.get("graph")
    return graph if isinstance(graph, Given) else None


def graph_name(scenario: Mapping[str, Any]) -> str:
    """How the fields of a scenario, as a header holds them, name a graph object; empty where there was none."""
    name = str(scenario["options"].get("graph", ""))
    return name if name.startswith(f"{GIVEN},") else ""


def _graph(topology: Any) -> nx.Graph:
    """A graph of networkx, without links to oneself."""
    if issparse(topology):
        topology = nx.from_scipy_sparse_array(topology, create_using=nx.DiGraph)
    if not isinstance(topology, nx.Graph):
        raise UserError(f"the topology function must return {GRAPHS}, not a {type(topology).__name__}")
    graph = nx.DiGraph(topology) if topology.is_directed() else nx.Graph(topology)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph
