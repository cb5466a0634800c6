"""Places of agents in a picture of their network.

Linked agents are near each other (Fruchterman and Reingold 1991), by the links alone. networkx has the same law for one agent at
a time; for 1,000 agents that takes twenty times as long (benchmarks/app.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parley.llm.seeding import stream

ROUNDS, GRAVITY = 60, 0.1
ROWS = 32
"""Agents whose distances to all others are computed at once: their numbers stay in the processor's cache."""
Floats = NDArray[np.float32]


def layout(people: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> Floats:
    """Return places in the unit square, one row per person. source, target: the persons at the ends of each link.

    Linked people attract by d^2/k, all repel by k^2/d; a step is at most the temperature, which falls to nothing. Gravity keeps
    people without links in the picture; the outermost hundredth is drawn at its edge.
    """
    draw = stream(0, "layout")
    at = np.array([[draw.random(), draw.random()] for _ in range(people)], np.float32)
    at = at.reshape(people, 2) - np.float32(0.5)
    near = np.float32(1 / max(people, 1) ** 0.5)
    for temperature in np.linspace(0.1, 0.005, ROUNDS, dtype=np.float32):
        force = _push_apart(at, near)
        along = at[source] - at[target]
        pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
        for axis in (0, 1):
            force[:, axis] -= np.bincount(source, pull[:, axis], people) - np.bincount(target, pull[:, axis], people)
        force -= GRAVITY * at / near
        length = np.linalg.norm(force, axis=1, keepdims=True)
        at += force / np.maximum(length, 1e-9) * np.minimum(length, temperature)
    low, high = np.quantile(at, [0.01, 0.99], axis=0) if people else (0, 1)
    return np.asarray(np.clip((at - low) / np.maximum(high - low, 1e-9), 0, 1), np.float32)


def _push_apart(at: Floats, near: np.float32) -> Floats:
    """Return the force by which all others push each person away, k^2/d, one row per person.

    Without matrix products: their last digits depend on the number of processors, and so would the picture.
    """
    x, y = np.ascontiguousarray(at.T)
    force = np.empty_like(at)
    for first in range(0, len(at), ROWS):
        rows = slice(first, first + ROWS)
        across, down = x[rows, None] - x, y[rows, None] - y
        weight = across * across
        weight += down * down
        np.maximum(weight, 1e-6, out=weight)
        np.divide(near**2, weight, out=weight)
        force[rows, 0], force[rows, 1] = (across * weight).sum(1), (down * weight).sum(1)
    return force
