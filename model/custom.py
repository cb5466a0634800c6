"""Python objects that a user passes to a run, an agent class or a graph: how the run folder names them and keeps them.

A record holds only text. So the header names an agent class as `party:module.Class`, and a graph by the digest of its GraphML,
which is kept in the run folder. To resume a run, pass the same objects again; otherwise it is refused.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import networkx as nx
from scipy.sparse import issparse

from parley.agents.own_people import given_people
from parley.environments._linked_people import LinkedPeople
from parley.environments.given_graph import GIVEN, Given
from parley.environments.graph_files import check_graph
from parley.environments.link_attributes import SIGN, WEIGHT, simple_graph
from parley.llm.errors import UserError
from parley.model.agent_factory import AgentClass, agent_classes
from parley.model.arguments import with_suited_sampling
from parley.model.files import file_errors
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_blocks import EnvironmentSpec
from parley.model.validation import check_scenario

Topology: TypeAlias = Any
"""A graph of networkx, a sparse array, or a function of the number of agents that returns one of these; or several places."""
GRAPHS = "a graph of networkx or a sparse array"
FILE = "topology.graphml"
"""The graph of the user, in a run folder."""
AGENT_CLASS, TOPOLOGY = "agent_class", "topology"
"""Keys of a header in addition to the fields of a scenario. A run without such objects has neither."""


def scenario_on(preset: str | Scenario, settings: Mapping[str, Any], topology: Topology | None) -> Scenario:
    """Return the scenario, or the preset of this name, with some fields set, on the user's graph if there is one."""
    settings = with_suited_sampling(settings)
    if "personas" in settings:
        settings["personas"] = given_people(settings["personas"])
    if isinstance(topology, str | Mapping | list | tuple):
        settings, topology = {**settings, "topology": topology}, None
    if topology is None:
        return preset.with_settings(settings) if isinstance(preset, Scenario) else load_preset(preset, settings)
    scenario = preset if isinstance(preset, Scenario) else load_preset(preset)
    if not isinstance(scenario.environment, LinkedPeople):
        raise UserError(
            f"topology only works in a scenario with a network, such as network, not in {scenario.name}: leave out "
            "topology"
        )
    linked = scenario.with_settings({"graph": "complete", **settings})
    return _on_topology(linked, cast(LinkedPeople, linked.environment).size, topology)


def _on_topology(scenario: Scenario, size: int, topology: Topology) -> Scenario:
    """The scenario on this graph, with one agent per node, of the party of the node if it has one. Errors: UserError.

    size: the number of agents that a function of the user is given.
    """
    spec = scenario.environment_spec
    if isinstance(topology, nx.Graph) or issparse(topology):
        graph = Given(_as_networkx(topology))
    elif callable(topology):
        graph = Given(_as_networkx(topology(size)), source=qualified_name(topology))
    else:
        wanted = f"{GRAPHS}, or a function of the number of agents that returns one"
        raise UserError(f"topology must be {wanted}, not a {type(topology).__name__}")
    options: dict[str, Any] = {**spec.options, "graph": graph, "size": len(graph.graph)}
    try:
        if graph.people:
            options["parties"] = tuple(dict.fromkeys(party for party, _ in graph.people))
    except ValueError as error:
        raise UserError(str(error)) from error
    linked = scenario.replace(environment_spec=EnvironmentSpec(spec.name, options, spec.society))
    check_scenario(linked)
    return linked


def _as_networkx(topology: Any) -> nx.Graph:
    """A graph of networkx with one link of each pair of nodes. Errors: UserError."""
    if issparse(topology):
        topology = nx.from_scipy_sparse_array(topology, create_using=nx.DiGraph)
        for *_, data in topology.edges(data=True):
            if data[WEIGHT] < 0:
                data.update({WEIGHT: -data[WEIGHT], SIGN: -1})
    if not isinstance(topology, nx.Graph):
        raise UserError(f"the topology function must return {GRAPHS}, not a {type(topology).__name__}")
    try:
        graph = simple_graph(topology)
        check_graph(graph)
    except ValueError as error:
        raise UserError(f"topology: {error}") from error
    return graph


def qualified_name(thing: Any) -> str:
    """Return `module.name` of a function or a class; of another callable, that of its class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def given_graph(scenario: Scenario) -> Given | None:
    """Return the graph object of a scenario, if it has one."""
    graph = scenario.environment_spec.options.get("graph")
    return graph if isinstance(graph, Given) else None


def class_names(agent_class: AgentClass, scenario: Scenario) -> list[str]:
    """Return names such as `labour:__main__.Contrarian`. Errors: UserError on a class that is no agent class."""
    classes = agent_classes(agent_class, scenario.parties, scenario.society)
    return [f"{party}:{qualified_name(kind)}" for party, kind in classes.items()]


def check_importable(agent_class: AgentClass, scenario: Scenario) -> None:
    """Errors: UserError on an agent class that another process cannot import."""
    for kind in agent_classes(agent_class, scenario.parties, scenario.society).values():
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
    """Return for the header the names of the agent classes and of the function that made the graph."""
    graph = given_graph(scenario)
    names = {AGENT_CLASS: list(classes), TOPOLOGY: graph.source if graph else ""}
    return {key: value for key, value in names.items() if value}


def keep_graph(folder: Path, scenario: Scenario) -> None:
    """Write the graph object of a scenario into its run folder, once. Errors: UserError when it cannot be written."""
    graph, path = given_graph(scenario), folder / FILE
    if graph is None or path.exists():
        return
    with file_errors(f"cannot write {path}"):
        path.write_text(graph.graphml, encoding="utf-8")


def check_objects(folder: Path, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Errors: UserError that says what to pass, if the folder was begun with another agent class or graph.

    theirs, mine: the fields of the scenario with the agent classes, as in the label of the folder.
    """
    was, now = theirs.get(AGENT_CLASS), mine.get(AGENT_CLASS)
    if was != now:
        wanted = f"pass agent_class={', '.join(was)}" if was else "leave out agent_class"
        raise UserError(
            f"{folder} already has a run with other agents: {wanted} to continue that run, or give another out"
        )
    was, now = (str(fields["options"].get("graph", "")) for fields in (theirs, mine))
    if was.startswith(f"{GIVEN},") and was != now:
        read = f'topology=networkx.read_graphml("{folder / FILE}")'
        raise UserError(
            f"{folder} already has a run with another topology: pass {read} to continue that run, or give another out"
        )
