"""The networked rooms as a space of Mesa's, for drawing."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import TYPE_CHECKING

import mesa
import networkx as nx
from mesa.discrete_space import Network as Cells

from parley.model.room import RoomState

if TYPE_CHECKING:
    from parley.model.seats import Placed


def grid(model: mesa.Model, rooms: Iterable[RoomState], agents: dict[int, Placed]) -> Cells | None:
    """All networked rooms as one space of Mesa's, a cell a person, for drawing; None where there are none."""
    graph = nx.DiGraph()
    for room in rooms:
        if room.society:
            graph.add_nodes_from(room.members)
            graph.add_edges_from(room.society.links.pairs)
    if not graph:
        return None
    bare = {"layout": None} if "layout" in signature(Cells).parameters else {}  # Mesa 3.5 would lay it out, in seconds
    cells = Cells(graph, random=model.random, **bare)
    for cell in cells.all_cells:
        agents[cell.coordinate].cell = cell
        cell.add_agent(agents[cell.coordinate])
    return cells
