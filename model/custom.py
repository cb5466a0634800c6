"""Who hears whom, as an object: a graph that somebody has in Python becomes the network of a scenario.

What a user brings to a run as Python objects, a class of agents or a graph: how the run folder names and keeps it.

A record holds text alone. So the header names an agent class as `party:module.Class` and a graph by the digest of its GraphML,
which lies in the folder. A resume needs the same objects again, and is refused without them.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
from scipy.sparse import issparse

from parley.environments.given_graph import GIVEN, Given
from parley.environments.network import Network
from parley.llm.errors import UserError
from parley.model.agent_factory import AgentClass, agent_classes
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_blocks import EnvironmentSpec
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


AGENT_CLASS, TOPOLOGY = "agent_class", "topology"
"""Keys beside the fields of a scenario, in a header; a header of a run without such objects has neither."""


def class_names(agent_class: AgentClass, scenario: Scenario) -> list[str]:
    """`["republican:__main__.Contrarian"]`; empty without classes of the user. Errors: UserError on what is no agent class."""
    own = agent_classes(agent_class, scenario.parties)
    return [f"{party}:{qualified_name(kind)}" for party, kind in own.items()]


def check_importable(agent_class: AgentClass, scenario: Scenario) -> None:
    """Errors: UserError on an agent class that another process cannot import."""
    for kind in agent_classes(agent_class, scenario.parties).values():
        try:
            if kind.__module__ != "__main__" and pickle.loads(pickle.dumps(kind)) is kind:
                continue
        except (pickle.PicklingError, AttributeError, ImportError):
            pass
        raise UserError(
            f"the cells of a sweep run in other processes, which cannot import {qualified_name(kind)}: write the class into "
            f"a file such as my_agents.py, and use `from my_agents import {kind.__name__}`"
        )


def header_names(scenario: Scenario, classes: Sequence[str]) -> dict[str, Any]:
    """What a header says of objects beside the scenario: the agent classes, and the function that made the topology."""
    graph = given_graph(scenario)
    named = {AGENT_CLASS: list(classes), TOPOLOGY: graph.source if graph else ""}
    return {key: value for key, value in named.items() if value}


def keep_graph(folder: Path, scenario: Scenario) -> None:
    """Write the graph object of a scenario into its run folder, once. Errors: UserError when it cannot be written."""
    graph, path = given_graph(scenario), folder / FILE
    if graph is None or path.exists():
        return
    try:
        path.write_text(graph.graphml, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def check_objects(folder: Path, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """The objects of a resume are those that the folder was begun with. Errors: UserError that says what to pass.

    theirs, mine: the fields of the scenario, with the agent classes, as the folder's label holds them.
    """
    was, now = theirs.get(AGENT_CLASS), mine.get(AGENT_CLASS)
    if was != now:
        wanted = f"pass agent_class={', '.join(was)}" if was else "leave out agent_class"
        raise UserError(f"{folder} holds a run with other agents: {wanted}, or give another out")
    if (graph := graph_name(theirs)) and graph != graph_name(mine):
        read = f'topology=networkx.read_graphml("{folder / FILE}")'
        raise UserError(f"{folder} holds a run on another topology: pass {read}, or give another out")
