"""What the nodes of the user's graph say about people: first opinions, stubbornness, bounds of confidence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from parley.agents.laws import Floats
from parley.agents.laws.base import AXIS
from parley.agents.laws.motion import STUBBORN
from parley.llm.errors import UserError
from parley.model.population_setup import ChosenGraph

ATTITUDE = "attitude"
RANGES = {ATTITUDE: AXIS, "stubbornness": (0.0, 1.0), "bound": (0.0, math.inf), STUBBORN: (0.0, 1.0)}
"""The smallest and the largest value of an attribute. Any finite number is allowed for other attributes."""


def attitude_names(dimensions: int) -> list[str]:
    """Return the names of the attributes and columns with opinions: `attitude`, or `attitude_1`, `attitude_2`, ..."""
    return [ATTITUDE] if dimensions == 1 else [f"{ATTITUDE}_{number}" for number in range(1, dimensions + 1)]


def node_traits(graph: ChosenGraph, names: Iterable[str]) -> dict[str, Floats]:
    """Return (n,) the values of each attribute that the nodes have, in the order of the nodes.

    names: the attributes that are wanted. Errors: UserError if only some nodes have an attribute, or a value is not a
    number in range.
    """
    found = {name: graph.attribute(name) for name in names}
    return {name: _checked(graph, name, values) for name, values in found.items() if values}


def _checked(graph: ChosenGraph, name: str, values: list[Any]) -> Floats:
    low, high = RANGES.get(ATTITUDE if name.startswith(f"{ATTITUDE}_") else name, (-math.inf, math.inf))
    for node, value in zip(graph.nodes, values, strict=True):
        if not (_is_number(value, name) and math.isfinite(value) and low <= value <= high):
            raise UserError(f"graph {graph.name}: node {node} has the {name} {value!r}: {_wanted(name, low, high)}")
    return np.array(values, dtype=float)


def _is_number(value: Any, name: str) -> bool:
    """Whether a value has the type of its attribute: true or false (or 0 or 1) for STUBBORN, otherwise a number."""
    if name == STUBBORN:
        return isinstance(value, bool | np.bool_) or value in (0, 1)
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _wanted(name: str, low: float, high: float) -> str:
    if name == STUBBORN:
        return "give true or false"
    if math.isinf(low):
        return "give a finite number"
    return f"give a number of {low:g} or more" if math.isinf(high) else f"give a number from {low:g} to {high:g}"
