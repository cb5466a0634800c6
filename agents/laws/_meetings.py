"""Meetings, one after the other: who meets whom, and which meetings can be computed at once.

Meetings of different agents do not affect each other. Laws compute them in batches, with exactly the outcome of one
after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import Codes, Floats, distances

STRETCHES = 8
"""A step is cut into so many stretches: in a short stretch few meetings have to wait for another."""


def draw_meetings(graph: csr_array, generator: np.random.Generator, partners: int = 1) -> tuple[Codes, ...]:
    """Draw who meets whom, in order: arrays of at most n agents each.

    The first array is drawn from all agents. The others (`partners` of them) are neighbours of the first, drawn with
    replacement. Agents without neighbours meet no one and are left out.
    """
    size = graph.shape[0]
    agents = generator.integers(size, size=size)
    degree, chances = np.diff(graph.indptr)[agents], [generator.random(size) for _ in range(partners)]
    some = degree > 0
    agents, starts = agents[some], graph.indptr[agents[some]]
    return agents, *[graph.indices[starts + (chance * degree)[some].astype(np.int64)] for chance in chances]


class Pairs(NamedTuple):
    """Meetings of two, none waits for another: who meets whom, by how much `second` is above `first`, how far apart."""

    first: Codes
    second: Codes
    gap: Floats
    distance: Floats


def pairs_in_turn(moved: Floats, graph: csr_array, generator: np.random.Generator) -> Iterator[Pairs]:
    """Draw the meetings of a step, and yield them in batches. The reader of a batch moves the opinions `moved` in place
    before the next batch.
    """
    agents, other = draw_meetings(graph, generator)
    for batch in concurrent_batches(len(moved), agents, other):
        first, second = agents[batch], other[batch]
        gap = moved[second] - moved[first]
        yield Pairs(first, second, gap, distances(gap))


def concurrent_batches(size: int, *ends: Codes) -> Iterator[Codes]:
    """Split meetings into batches: no agent is in two meetings of a batch, and each agent's meetings keep their order.

    ends: the agents of each meeting, an array for each role. size: the number of agents.

    >>> [batch.tolist() for batch in concurrent_batches(5, np.array([0, 1, 3]), np.array([1, 2, 4]))]
    [[0, 2], [1]]
    """
    turn, roles = np.empty(size, dtype=np.int64), len(ends)
    for left in np.array_split(np.arange(len(ends[0])), STRETCHES if len(ends[0]) > 1000 else 1):
        while len(left):
            agents, numbers = np.column_stack([end[left] for end in ends]).ravel(), np.arange(len(left))
            turn[agents[::-1]] = np.repeat(numbers, roles)[::-1]  # backwards, so an agent's earliest meeting remains
            ready = (turn[agents].reshape(-1, roles) == numbers[:, None]).all(axis=1)
            yield left[ready]
            left = left[~ready]
