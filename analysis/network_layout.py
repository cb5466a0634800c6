"""Places of agents in a picture of their network.

Linked agents are near each other (Fruchterman and Reingold 1991), by the links alone. networkx has the same law for one agent at
a time; for 1,000 agents that takes twenty times as long (benchmarks/app.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parley.llm.seeding import stream

ROUNDS, GRAVITY = 60, 0.1
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
        squares = (at**2).sum(1)
        distances = squares[:, None] + squares[None, :] - 2 * at @ at.T  # squared, of all pairs
        weight = near**2 / np.maximum(distances, 1e-6)
        force = at * weight.sum(1)[:, None] - weight @ at
        along = at[source] - at[target]
        pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
        for axis in (0, 1):
            force[:, axis] -= np.bincount(source, pull[:, axis], people) - np.bincount(target, pull[:, axis], people)
        force -= GRAVITY * at / near
        length = np.linalg.norm(force, axis=1, keepdims=True)
        at += force / np.maximum(length, 1e-9) * np.minimum(length, temperature)
    low, high = np.quantile(at, [0.01, 0.99], axis=0) if people else (0, 1)
    return np.asarray(np.clip((at - low) / np.maximum(high - low, 1e-9), 0, 1), np.float32)
