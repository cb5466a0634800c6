"""What a user brings to a run as Python objects, a class of agents or a graph: how the run folder names and keeps it.

A record holds text alone. So the header names an agent class as `party:module.Class` and a graph by the digest of its GraphML,
which lies in the folder. A resume needs the same objects again, and is refused without them.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.model.agent_factory import AgentClass, agent_classes
from parley.model.scenario import Scenario
from parley.model.topology import FILE, given_graph, graph_name, qualified_name

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
