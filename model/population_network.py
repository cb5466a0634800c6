"""Who reads whom in each step of a population: links, muted and absent people, a feed, and rewiring."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws import Codes, Floats
from parley.agents.laws.base import AXIS, Flags
from parley.agents.laws.motion import STUBBORN
from parley.environments.link_timetable import LinkTimetable
from parley.environments.rewiring import Rewired
from parley.environments.sparse_feeds import PopulationFeed, link_distances
from parley.environments.sparse_links import add_links, contains, hearers, keep_links
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
    values_by_name = {name: graph.attribute(name) for name in names}
    return {name: _checked(graph, name, values) for name, values in values_by_name.items() if values}


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


class LinkChange(NamedTuple):
    """Links that appear (`added`) or vanish: who hears whom, and with which weights."""

    added: bool
    sources: Codes
    targets: Codes
    weights: Floats


class PopulationNetwork:
    """The links of a population and what happens to them.

    graph     who hears whom
    read      who read whom in the last step; None before the first
    muted     (n,) whom no one reads; None if there never was anyone
    absent    (n,) who is not there; None: all are there
    changes   the links that changed before the current step
    mutual    whether both move in a meeting, so that muted people have none
    """

    def __init__(
        self, graph: csr_array, feed: PopulationFeed | None = None, rewiring: Any = None, mutual: bool = False
    ):
        self.graph, self.feed, self.rewiring, self.mutual = graph, feed, rewiring, mutual
        self.read: csr_array | None = None
        self.muted: Flags | None = None
        self.absent: Flags | None = None
        self.changes: list[LinkChange] = []
        self._votes = np.zeros(graph.shape[0])
        self._audible: csr_array | None = None

    def set_flag(self, flag: str, people: Codes, value: bool) -> None:
        """Set whether people are `muted` or `absent`."""
        flags = getattr(self, flag)
        flags = np.zeros(self.graph.shape[0], dtype=np.bool_) if flags is None else flags.copy()
        flags[people] = value
        setattr(self, flag, flags)
        self._audible = None

    def change(self, change: str, sources: Codes, targets: Codes, weights: Floats | None = None) -> None:
        """Remove (`remove`) or add these links. weights: of links that are added (default: 1)."""
        if not len(sources):
            return
        if change == "add":
            weights = np.ones(len(sources)) if weights is None else weights
            self.graph = add_links(self.graph, sources, targets, weights)
        else:
            size, rows = self.graph.shape[0], hearers(self.graph)
            gone = np.isin(rows * size + self.graph.indices, sources * size + targets)
            sources, targets = rows[gone], self.graph.indices[gone].astype(np.int64)
            weights, self.graph = self.graph.data[gone], keep_links(self.graph, ~gone)
        self.changes.append(LinkChange(change == "add", sources, targets, weights))
        self._audible = None

    def follow(self, timetable: LinkTimetable, step: int) -> None:
        """Change the links that end before a step or begin with it. Those that people have made or given up stay so."""
        self.change("remove", *timetable.gone(step))
        sources, targets, weights = timetable.new(step)
        if len(sources):
            new = ~contains(self.graph, sources, targets)
            self.change("add", sources[new], targets[new], weights[new])

    def rewire(self, opinions: Floats, generator: np.random.Generator) -> None:
        """Change links by the rule of rewiring. opinions: NaN for absent people."""
        done: Rewired = self.rewiring.rewire(self.graph, opinions, generator)
        if len(done.rows):
            self.changes.append(LinkChange(False, done.rows, done.dropped, done.weights))
            self.changes.append(LinkChange(True, done.rows, done.added, done.weights))
            self.graph, self._audible = done.graph, None

    def select(self, opinions: Floats, generator: np.random.Generator) -> csr_array:
        """Return who reads whom in a step; the graph itself if everyone reads all whom it hears."""
        if self._audible is None:
            self._audible = self._without_silent()
        self.read = self._audible
        if self.feed:
            self.read = self.feed.select(self._audible, opinions, self._votes, generator)
            self._votes = self.feed.count_votes(self.read, opinions)
        return self.read

    def _without_silent(self) -> csr_array:
        """Return the links that someone can read."""
        flags = [mask for mask in (self.muted, self.absent) if mask is not None and mask.any()]
        if not flags:
            return self.graph
        silent = np.any(flags, axis=0)
        deaf = silent if self.mutual else np.zeros_like(silent) if self.absent is None else self.absent
        return keep_links(self.graph, ~silent[self.graph.indices] & ~deaf[hearers(self.graph)])

    @property
    def present(self) -> int:
        """How many people are not absent."""
        return int(self.graph.shape[0]) - (0 if self.absent is None else int(self.absent.sum()))

    @property
    def new_links(self) -> float:
        """The links that appeared before the current step, by person."""
        return sum(len(change.sources) for change in self.changes if change.added) / int(self.graph.shape[0])

    @property
    def mean_read(self) -> float | None:
        """How many people one read in the last step, on average over those present; None before the first."""
        return None if self.read is None or not self.present else int(self.read.nnz) / self.present

    def mean_distance(self, opinions: Floats) -> float | None:
        """The mean distance between these opinions of a reader and of whom it read in the last step; None if no one read."""
        if self.read is None or not self.read.nnz:
            return None
        return float(link_distances(self.read, opinions).mean())
