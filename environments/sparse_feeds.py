"""Feeds of a population: which of the people that one hears are read in a step. `--feed homophilous,length=5` chooses one.

Names and options are those of the feeds of a network (`rule=posts,feed=homophilous,length=5`, environments/rules.py). In a
population everyone says its opinion in every step, and each reader reads `length` of those that it hears. Each class here
is one feed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.environments.base import in_range
from parley.environments.sparse_links import Floats, distances, hearers, keep_links, lowest_links
from parley.llm.registry import Registry, UserError

FEEDS = Registry("feed", __name__, "parley.feeds", ("ranks",))
SAME = 1e-9
"""Distances that differ by less than this, in points, are equal."""


def open_feed(spec: str) -> PopulationFeed | None:
    """Return the feed of a spec; None without one. Errors: UserError if a name, option or value is wrong."""
    if spec.split(",")[0] == "affinity":
        raise UserError(
            "the feed `affinity` needs all earlier votes of each reader, which a population does not store: choose "
            f"one of {', '.join(FEEDS.builtin())}"
        )
    feed: PopulationFeed | None = FEEDS.open(spec) if spec else None
    return feed


@dataclass(frozen=True)
class PopulationFeed(ABC):
    """The base class of feeds of a population. `length`: how many people one reads in a step."""

    length: int = 5

    def __post_init__(self) -> None:
        in_range(1, 1e6, length=self.length)

    def select(self, graph: csr_array, opinions: Floats, votes: Floats, generator: np.random.Generator) -> csr_array:
        """Return whom everyone reads; the graph itself if no one hears more than `length` people.

        votes: (n,) votes for each person minus votes against it, in the step before.
        """
        if np.diff(graph.indptr).max(initial=0) <= self.length:
            return graph
        ranks = self.ranks(graph, opinions, votes, generator)
        return keep_links(graph, lowest_links(graph, ranks, self.length))

    def count_votes(self, read: csr_array, opinions: Floats) -> Floats:
        """Return (n,) the votes of the readers for each person; 0 in a feed without votes."""
        return np.zeros(len(opinions))

    @abstractmethod
    def ranks(self, graph: csr_array, opinions: Floats, votes: Floats, generator: np.random.Generator) -> Floats:
        """Return (links,) the rank of each link, without ties. The lowest ranks of a reader are read."""


@dataclass(frozen=True)
class Chronological(PopulationFeed):
    """Newest first. Everyone says something in every step, so all are equally new, and chance decides."""

    def ranks(self, graph: csr_array, opinions: Floats, votes: Floats, generator: np.random.Generator) -> Floats:
        ranks: Floats = generator.random(graph.nnz)
        return ranks


@dataclass(frozen=True)
class Homophilous(PopulationFeed):
    """Nearest first; chance decides between equal distances. In several dimensions, Euclidean distance."""

    def ranks(self, graph: csr_array, opinions: Floats, votes: Floats, generator: np.random.Generator) -> Floats:
        ranks: Floats = link_distances(graph, opinions) + SAME * generator.random(graph.nnz)
        return ranks


@dataclass(frozen=True)
class Hot(PopulationFeed):
    """Most votes first, counted in the step before; chance decides between equal numbers, as in the first step.

    As in a network, a reader votes for a person at most `near` points away and against one at least `far` points away.
    Departure: nothing is shown twice, so time has no part in the rank.
    """

    near: float = 2.0
    far: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range(0, 10, near=self.near)
        in_range(self.near, 10, far=self.far)

    def ranks(self, graph: csr_array, opinions: Floats, votes: Floats, generator: np.random.Generator) -> Floats:
        ranks: Floats = generator.random(graph.nnz) - votes[graph.indices]
        return ranks

    def count_votes(self, read: csr_array, opinions: Floats) -> Floats:
        distance = link_distances(read, opinions)
        votes = (distance <= self.near) * 1.0 - (distance >= self.far)
        counted: Floats = np.bincount(read.indices, votes, len(opinions)).astype(np.float64)
        return counted


def link_distances(graph: csr_array, opinions: Floats) -> Floats:
    """Return (links,) the distance between the two ends of each link, in points."""
    return distances(opinions[graph.indices] - opinions[hearers(graph)])
