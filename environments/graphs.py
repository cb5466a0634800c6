"""Graphs: who hears whom at the start of a network. `graph=small_world,degree=6` chooses one (docs/networks.md).

Each class here is one choice, and its fields are the options. `build(seats, rng)` draws a networkx graph on the seat
numbers from 0. A link a -> b of a directed graph means that a hears b; a link of an undirected graph means that both
hear each other. `array(members, generator)` draws the same kind of graph for a population of any size.
"""

from __future__ import annotations

import math
import os
import random
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any, ClassVar, NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.environments import sparse_graphs
from parley.environments._social_graph import Pairs
from parley.environments.base import in_range
from parley.environments.edge_table import EdgeTable
from parley.environments.graph_files import read_graph, read_nodes, read_table
from parley.environments.link_attributes import NO_TIES, Ties, is_temporal, read_ties
from parley.environments.mapped_graph import mapped_table
from parley.llm.registry import Registry, UserError

GRAPHS = Registry("graph", __name__, "parley.graphs", ("build", "pairs", "fits"))
NUMBERED = re.compile(r"n?\d+")
PARTY, PERSONA, HISTORY = "party", "persona", "history"


class Node(NamedTuple):
    """A node of a graph of the user's: its name and its attributes (texts, numbers, true or false)."""

    name: str
    attributes: Mapping[str, Any]


class Graph(ABC):
    """Base class of graphs.

    `placed` says that the graph itself decides where the members of each party are. Members of all other graphs are
    placed at random, so that neither the order of seats nor the age of a node is related to a party.
    """

    placed: ClassVar[bool] = False

    @property
    def people(self) -> tuple[tuple[str, str], ...]:
        """Party and persona of each node, if the graph says who its nodes are; otherwise empty."""
        return ()

    def fits(self, seats: tuple[str, ...]) -> None:
        """Check what can be checked before the graph is drawn. Errors: ValueError if these members cannot have such a graph."""
        return

    def pairs(self, seats: tuple[str, ...], rng: random.Random) -> Pairs:
        """Return who hears whom, by seat number, sorted. Errors: ValueError, as `build`."""
        graph = self.build(seats, rng)
        places = self.places(seats, rng)
        pairs = [(places[source], places[target]) for source, target in graph.edges]
        both = [] if graph.is_directed() else [(target, source) for source, target in pairs]
        return tuple(sorted([*pairs, *both]))

    def places(self, seats: tuple[str, ...], rng: random.Random) -> list[int]:
        """Return the seat of each node."""
        places = list(range(len(seats)))
        if not self.placed:
            rng.shuffle(places)
        return places

    def nodes(self, seats: tuple[str, ...], rng: random.Random) -> tuple[Node, ...]:
        """Return the node of each seat, by the draws of `pairs`; empty if nodes have no names of their own."""
        return ()

    def ties(self, seats: tuple[str, ...], rng: random.Random) -> Ties:
        """Return weights, signs and periods of links, by the draws and seat numbers of `pairs`; empty if they have none."""
        return NO_TIES

    @property
    def changing(self) -> bool:
        """Whether some links have a first or a last round."""
        return False

    @abstractmethod
    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        """Draw the graph on the seat numbers from 0. Errors: ValueError if there is none."""

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        """Draw the same kind of graph for up to millions (environments/sparse_graphs.py); None if only `build` can draw
        it.

        members: (n,) the number of each member's party, from 0. The draws differ from those of `build`. Errors:
        ValueError.
        """
        return None


@dataclass(frozen=True)
class Complete(Graph):
    """Everyone hears everyone, as around one table. No options."""

    placed = True

    def pairs(self, seats: tuple[str, ...], rng: random.Random) -> Pairs:
        return tuple(permutations(range(len(seats)), 2))  # faster than `build`: a thousand members have a million pairs

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        return nx.complete_graph(len(seats))


@dataclass(frozen=True)
class Ring(Graph):
    """A ring lattice: everyone hears the `degree` nearest members, half of them on each side. `degree` is even."""

    degree: int = 4

    def __post_init__(self) -> None:
        if self.degree < 2 or self.degree % 2:
            raise ValueError(f"degree is {self.degree}, but must be an even number of at least 2")

    def fits(self, seats: tuple[str, ...]) -> None:
        _check_degree(self.degree, seats)

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        return nx.circulant_graph(len(seats), range(1, self.degree // 2 + 1))

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        return sparse_graphs.ring(len(members), self.degree)


@dataclass(frozen=True)
class SmallWorld(Ring):
    """A ring lattice in which each link leads elsewhere with probability `rewired`. `degree`: mean number heard, even.

    Source: Watts and Strogatz 1998, Nature 393, 440-442.
    """

    degree: int = 6
    rewired: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range(0, 1, rewired=self.rewired)

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        return nx.watts_strogatz_graph(len(seats), self.degree, self.rewired, seed=rng)

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        return sparse_graphs.small_world(len(members), self.degree, self.rewired, generator)


@dataclass(frozen=True)
class ScaleFree(Graph):
    """Each newcomer makes `links` links, preferably to members who have many (Barabási and Albert 1999, Science 286,
    509-512).

    `directed`: a newcomer hears these members but they do not hear it, as where people follow others.
    """

    links: int = 3
    directed: bool = False

    def __post_init__(self) -> None:
        if self.links < 1:
            raise ValueError(f"links is {self.links}, but must be at least 1")

    def fits(self, seats: tuple[str, ...]) -> None:
        if self.links >= len(seats):
            raise ValueError(f"{len(seats)} agents are too few for {self.links} links each: give fewer links")

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        graph = nx.barabasi_albert_graph(len(seats), self.links, seed=rng)
        if not self.directed:
            return graph
        return nx.DiGraph([(max(ends), min(ends)) for ends in graph.edges])  # the newcomer has the larger number

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse_graphs.scale_free(len(members), 2 * self.links, generator)


@dataclass(frozen=True)
class Random(Graph):
    """Links drawn from all pairs with equal chances (Erdős and Rényi 1959, Publicationes Mathematicae 6).

    `degree`: mean number heard. `directed`: hearing someone does not imply being heard.
    """

    degree: float = 8.0
    directed: bool = False

    def __post_init__(self) -> None:
        in_range(0, 1e6, degree=self.degree)

    def fits(self, seats: tuple[str, ...]) -> None:
        _check_degree(self.degree, seats)

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        links = round(len(seats) * self.degree / (1 if self.directed else 2))
        return nx.gnm_random_graph(len(seats), links, seed=rng, directed=self.directed)

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse_graphs.random_graph(len(members), self.degree, generator)


@dataclass(frozen=True)
class Geometric(Graph):
    """Members at random places of a unit square hear those nearby (random geometric graph; Gilbert 1961, J. SIAM 9).

    `degree`: mean number heard by a member far from the border. The radius is sqrt(degree / (pi * members)).
    """

    degree: float = 8.0

    def __post_init__(self) -> None:
        in_range(0, 1e6, degree=self.degree)

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        return nx.random_geometric_graph(len(seats), math.sqrt(self.degree / (math.pi * len(seats))), seed=rng)


@dataclass(frozen=True)
class Blocks(Graph):
    """Random links, more of them within a party than across (stochastic block model; Holland et al. 1983, Social
    Networks 5).

    `degree`: mean number heard. `homophily`: mean share of one's links within one's party. `directed`: hearing someone
    does not imply being heard. If parties differ in size, every pair across has the same chance, so members of the
    larger party hear fewer of the others than members of the smaller one. A member may hear no one.
    """

    degree: float = 8.0
    homophily: float = 0.8
    directed: bool = False
    placed = True

    def __post_init__(self) -> None:
        in_range(0, 1, homophily=self.homophily)
        in_range(0, 1e6, degree=self.degree)

    def fits(self, seats: tuple[str, ...]) -> None:
        if any(chance > 1 for row in self.chances(Counter(seats)) for chance in row):
            raise ValueError(
                f"each of {len(seats)} agents cannot have {self.degree:g} links, most of them within its party: "
                "set a smaller degree of the graph, as in graph=blocks,degree=2, or a larger size"
            )

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        sizes = Counter(seats)
        chances = self.chances(sizes)
        members = [[seat for seat, seat_party in enumerate(seats) if seat_party == party] for party in sizes]
        graph = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(range(len(seats)))
        numbers = range(len(members))
        for row, column in product(numbers, numbers) if self.directed else combinations_with_replacement(numbers, 2):
            links = _random_links(chances[row][column], members[row], members[column], self.directed, rng)
            graph.add_edges_from(links)
        return graph

    def array(self, members: sparse_graphs.Codes, generator: np.random.Generator) -> csr_array | None:
        return None if self.directed else sparse_graphs.blocks(members, self.degree, self.homophily, generator)

    def chances(self, sizes: Counter[str]) -> list[list[float]]:
        """Return the chance of a link from a member of the row's party to a member of the column's party.

        >>> Blocks(8, 0.75).chances(Counter({"labour": 25, "green": 25}))
        [[0.25, 0.08], [0.08, 0.25]]
        """
        people, homophily = sizes.total(), self.homophily if len(sizes) > 1 else 1.0
        within, across = homophily * self.degree, (1 - homophily) * self.degree
        others = sum(size * (people - size) for size in sizes.values()) / people  # of another party, on average
        return [
            [within / max(size - 1, 1) if row_party == other else across / others for other in sizes]
            for row_party, size in sizes.items()
        ]


@dataclass(frozen=True)
class File(Graph):
    """A graph from a file: GraphML, GEXF, an edge list, an adjacency list or a sparse matrix (environments/graph_files.py).

    `path` of the file. `directed`: a line `a b` of an edge list or an adjacency list means only that a hears b; other
    formats say so themselves. `node_file`: a table of nodes (.csv) with a column `node`, whose other columns are
    attributes. `columns`: what the columns of a table of links are called in the file, as in (from:source,to:target).
    `names`: the attribute of nodes by which agents are called, such as label; others are called by their ids. `mapped`:
    of a table of links, make a folder once (`friends.csv.graph`) from which a population reads links as it needs them
    (environments/mapped_graph.py); such a folder may also be the `path`. The graph must have as many nodes as there are
    people. No node may be linked with itself.

    The record keeps the names and the attributes of nodes, and the weights and signs of links. The attribute `party` of
    a node gives its party and `persona` the name or id of its persona; either all nodes have a party or none. If nodes
    are named (by such an attribute, or by an id that is not just a number), each node keeps its seat in all
    repetitions; otherwise people are placed at random.
    """

    path: str
    directed: bool = False
    node_file: str = ""
    columns: tuple[str, ...] = ()
    names: str = ""
    mapped: bool = False

    @property
    def title(self) -> str:
        """What the graph is called in messages."""
        return self.path

    @property
    def people(self) -> tuple[tuple[str, str], ...]:
        """Party and persona ("" for any) of each node in the order of the file; empty if nodes have no parties. Errors:
        ValueError if only some nodes have a party, or some have a persona but no party."""
        nodes = self.read().nodes(data=True)
        lacking = [name for name, attributes in nodes if not attributes.get(PARTY)]
        if len(lacking) == len(nodes) and not any(attributes.get(PERSONA) for _, attributes in nodes):
            return ()
        if lacking:
            raise ValueError(
                f"{self.title}: node {lacking[0]} has no party; give all nodes the attribute party, or none"
            )
        return tuple((str(attributes[PARTY]), str(attributes.get(PERSONA, ""))) for _, attributes in nodes)

    def places(self, seats: tuple[str, ...], rng: random.Random) -> list[int]:
        named = self.people or not all(NUMBERED.fullmatch(str(name)) for name in self.read())
        return list(range(len(seats))) if named else super().places(seats, rng)

    def build(self, seats: tuple[str, ...], rng: random.Random) -> nx.Graph:
        if (size := len(self.read())) != len(seats):
            raise ValueError(f"{self.title} has {size} nodes, but there are {len(seats)} agents: set size={size}")
        return nx.convert_node_labels_to_integers(self.read())

    def nodes(self, seats: tuple[str, ...], rng: random.Random) -> tuple[Node, ...]:
        nodes = zip(self.places(seats, rng), self.read().nodes(data=True), strict=True)
        return tuple(
            Node(str(name), dict(attributes)) for _, (name, attributes) in sorted(nodes, key=lambda pair: pair[0])
        )

    def ties(self, seats: tuple[str, ...], rng: random.Random) -> Ties:
        return read_ties(self.build(seats, rng), self.places(seats, rng))

    def pairs(self, seats: tuple[str, ...], rng: random.Random) -> Pairs:
        return tuple(sorted(self.ties(seats, rng).at(1))) if self.changing else super().pairs(seats, rng)

    @property
    def changing(self) -> bool:
        return _is_temporal(self.read())

    @property
    def is_mapped(self) -> bool:
        """Whether links are read from a folder of arrays as they are needed."""
        return self.mapped or os.path.isdir(self.path)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the graph is read from."""
        return tuple(filter(None, (self.path, self.node_file)))

    def read(self) -> nx.Graph:
        """Return the graph of the file; do not change it. Errors: ValueError."""
        with _graph_errors(self.path):
            if self.is_mapped:
                raise ValueError("mapped=true only works in populations: give the table of links without mapped=true")
            return _read(self, tuple(map(_stamp, self.files)))

    def table(self) -> EdgeTable | None:
        """Return the links as columns, if the file is an edge list or a matrix; else None. Errors: ValueError."""
        if self.is_mapped:
            with _graph_errors(self.path):
                if self.names or self.node_file:
                    raise ValueError("a mapped graph has no attributes of nodes: leave out names and node_file")
                return mapped_table(self.path, self.directed, self.columns)
        if self.names:
            return None
        with _graph_errors(self.path):
            table = read_table(self.path, self.directed, self.columns)
            return table.with_nodes(read_nodes(self.node_file)) if table and self.node_file else table


def _check_degree(degree: float, seats: tuple[str, ...]) -> None:
    if degree > len(seats) - 1:
        raise ValueError(f"each of {len(seats)} agents cannot have {degree:g} neighbours: set a smaller degree")


def _random_links(
    chance: float, sources: list[int], targets: list[int], directed: bool, rng: random.Random
) -> Iterator[tuple[int, int]]:
    """Draw each pair of a source and a target, numbered from 0, with this chance: first how many pairs, then which."""
    same = sources is targets
    half = same and not directed
    count = len(sources) * (len(targets) - same) // (1 + half)
    drawn = int(np.random.default_rng(rng.getrandbits(64)).binomial(count, chance))
    for number in sorted(rng.sample(range(count), drawn)):
        if half:
            column = (1 + math.isqrt(1 + 8 * number)) // 2
            yield sources[number - column * (column - 1) // 2], sources[column]
        else:
            row, column = divmod(number, len(targets) - same)
            yield sources[row], targets[column + (same and column >= row)]


@lru_cache(maxsize=4)
def _read(file: File, stamp: tuple[tuple[int, int], ...]) -> nx.Graph:
    """Read a graph. stamp: when each file was changed, and its size: a changed file is read again."""
    return read_graph(file.path, file.directed, file.node_file, file.columns, file.names)


_is_temporal = lru_cache(maxsize=8)(is_temporal)
"""Every agent of a debate asks for it. A graph is looked up by its identity, because it does not change."""


def _stamp(path: str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_size


@contextmanager
def _graph_errors(path: str) -> Iterator[None]:
    """Turn every error of a graph file into a ValueError of one line that names the file."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:  # the last two: a compressed file that is cut off or damaged
        file = getattr(error, "filename", None) or path
        raise ValueError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from error
    except UserError as error:  # it names the file
        raise ValueError(str(error)) from error
    except (UnicodeDecodeError, nx.NetworkXException) as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
    except Exception as error:  # the parsers of networkx fail on broken files with errors of any kind
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> ValueError:
    return ValueError(f"{path} is not a readable graph file: {' '.join(str(error).split())}")
