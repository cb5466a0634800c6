"""Sets up a population: the parties and initial attitudes of its agents, and the graph of who hears whom.

The command line names parties (`labour:3:1,green:8:1:2`) and a graph of environments/graphs.py with its options.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from statistics import NormalDist
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csr_array, issparse

from parley.agents.laws import LAWS, Codes, Floats, Law
from parley.agents.laws.base import AXIS
from parley.environments import sparse_graphs
from parley.environments.edge_table import EdgeTable, table_of_array
from parley.environments.graph_files import check_graph
from parley.environments.graphs import GRAPHS, PARTY, File, Graph
from parley.environments.link_timetable import LinkTimetable
from parley.llm.errors import UserError
from parley.llm.spec import parse_spec

DETAIL = 100
"""Number of equal parts into which a normal distribution is cut."""


@dataclass(frozen=True)
class Party:
    """A party: its weight among all agents, and quantiles of the initial attitudes at equal steps from 0 to 1.

    `Party("all", 1.0, (0.0, 10.0))` is all agents, evenly spread over the axis.
    """

    name: str
    share: float
    starts: tuple[float, ...]


ONE_PARTY = (Party("all", 1.0, AXIS),)


def parse_parties(text: str) -> tuple[Party, ...]:
    """Read NAME:MEAN:SD[:WEIGHT] (normal within the axis) or NAME[:WEIGHT] (evenly spread) for each party. Errors: UserError.

    >>> [party.share for party in parse_parties("a:3:1,b:8:1:2")]
    [1.0, 2.0]
    """
    parties = tuple(_party(party_text) for party_text in text.split(",")) if text else ONE_PARTY
    if len({party.name for party in parties}) < len(parties):
        raise UserError(f"--parties {text} names a party twice: name each party once")
    return parties


def _party(text: str) -> Party:
    name, *rest = text.split(":")
    try:
        numbers = [float(number) for number in rest]
    except ValueError:
        numbers = [math.nan]
    if not name.isidentifier() or len(numbers) > 3 or not all(math.isfinite(number) for number in numbers):
        raise UserError(f"--parties: {text!r} is not NAME, NAME:WEIGHT, NAME:MEAN:SD or NAME:MEAN:SD:WEIGHT")
    share = numbers.pop() if len(numbers) % 2 else 1.0
    if share <= 0 or (numbers and not (AXIS[0] <= numbers[0] <= AXIS[1] and numbers[1] > 0)):
        raise UserError(
            f"--parties {text}: a mean must be from 0 to 10, and a spread (SD) and a weight must be above 0"
        )
    return Party(name, share, _normal(*numbers) if numbers else AXIS)


def _normal(mean: float, spread: float) -> tuple[float, ...]:
    """Quantiles of the normal distribution within the axis."""
    normal = NormalDist(mean, spread)
    low, high = map(normal.cdf, AXIS)
    shares = [low + (high - low) * place / DETAIL for place in range(1, DETAIL)]
    inner = [normal.inv_cdf(share) if 0 < share < 1 else mean for share in shares]
    return (max(AXIS[0], mean - 4 * spread), *inner, min(AXIS[1], mean + 4 * spread))


def draw_parties(parties: tuple[Party, ...], size: int, generator: np.random.Generator) -> Codes:
    """(size,) the place of each agent's party in `parties`: as many agents of each as its weight says, in random order."""
    bounds = np.cumsum([party.share for party in parties]) / sum(party.share for party in parties)
    codes = np.searchsorted(bounds, (np.arange(size) + 0.5) / size)
    return generator.permutation(np.minimum(codes, len(parties) - 1))


def party_codes(parties: Sequence[str], names: Sequence[str], option: str = "--parties") -> Codes:
    """(n,) the place of each node's party in `names`, the parties of an option.

    Errors: UserError on nodes of another party, a party without nodes.
    """
    if set(parties) != set(names):
        theirs = ",".join(dict.fromkeys(parties))
        raise UserError(
            f"the graph has nodes of the parties {theirs}, but {option} names {','.join(names)}: name the same parties"
        )
    return np.array([names.index(party) for party in parties], dtype=np.int64)


def initial_opinions(
    parties: tuple[Party, ...],
    codes: Codes,
    traits: Mapping[str, Floats],
    names: Sequence[str],
    stream: Callable[..., np.random.Generator],
) -> Floats:
    """(n,) or (n, d) the first opinions: those of the nodes, where `traits` has them, otherwise as their party begins.

    names: the names of the d dimensions. stream: returns the generator of a name; dimensions are independent, and the
    first is the same however many there are.
    """
    drawn = [stream("start", *([place] if place else [])) for place in range(len(names))]
    columns = [
        traits[name] if name in traits else initial_attitudes(parties, codes, generator)
        for name, generator in zip(names, drawn, strict=True)
    ]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def initial_attitudes(parties: tuple[Party, ...], codes: Codes, generator: np.random.Generator) -> Floats:
    """(n,) the initial attitude of each agent."""
    draws, attitudes = generator.random(len(codes)), np.empty(len(codes))
    for code, party in enumerate(parties):
        members = codes == code
        attitudes[members] = np.interp(draws[members], np.linspace(0, 1, len(party.starts)), party.starts)
    return attitudes


@dataclass(frozen=True)
class ChosenGraph:
    """A graph before it is built. `own` is a graph of the user whose nodes are the agents, from networkx or as columns."""

    name: str
    options: Graph | None = None
    own: nx.Graph | EdgeTable | None = None

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes of the user's graph, in their order."""
        if isinstance(self.own, EdgeTable):
            return self.own.names
        return [] if self.own is None else list(map(str, self.own))

    def attribute(self, name: str) -> list[Any]:
        """The value of an attribute of each node of the user's graph; empty if no node has it. Errors: UserError if only some
        have it."""
        if self.own is None or (isinstance(self.own, EdgeTable) and not self.own.nodes):
            return []
        nodes: Any = self.own.nodes
        keys = self.own.names if isinstance(self.own, EdgeTable) else self.own
        values = [nodes.get(node, {}).get(name) for node in keys]
        without = [node for node, value in zip(self.nodes, values, strict=True) if value is None or value == ""]
        if without and len(without) < len(values):
            raise UserError(
                f"graph {self.name}: node {without[0]} has no {name}, but other nodes have one: give "
                f"the attribute {name} to all nodes or to none"
            )
        return [] if without else values

    @cached_property
    def timetable(self) -> LinkTimetable | None:
        """The steps in which links exist, where the user's graph says so; None for links that stay. Errors: ValueError."""
        if isinstance(self.own, EdgeTable):
            return LinkTimetable.of(self.own.graph()) if self.own.temporal else None
        return None if self.own is None else LinkTimetable.of(self.own)

    @property
    def parties(self) -> list[str]:
        """The party of each node of the user's graph; empty if no node has one. Errors: UserError if only some have one."""
        return list(map(str, self.attribute(PARTY)))

    @property
    def even_parties(self) -> tuple[Party, ...]:
        """The parties of the nodes, each evenly spread over the axis; empty if no node has one."""
        return tuple([Party(name, float(number), AXIS) for name, number in Counter(self.parties).items()])


def choose_graph(graph: str | nx.Graph | Any, agents: int) -> ChosenGraph:
    """Return the graph of a spec, NAME[,option=value...], of networkx or of a sparse array. Errors: UserError, also for another
    number of nodes."""
    if isinstance(graph, nx.Graph):
        try:
            check_graph(graph)
        except ValueError as error:
            raise UserError(f"graph of networkx: {error}") from error
        chosen = ChosenGraph("of networkx", own=graph)
    elif issparse(graph):
        try:
            chosen = ChosenGraph("of scipy", own=table_of_array(graph))
        except ValueError as error:
            raise UserError(f"graph of scipy: {error}") from error
    else:
        try:
            options: Graph = GRAPHS.open(graph)
            own_table = (options.table() or options.read()) if isinstance(options, File) else None
        except ValueError as error:
            raise UserError(str(error)) from error
        chosen = ChosenGraph(parse_spec(graph).name, options, own_table)
    if chosen.own is not None and len(chosen.own) != agents:
        if not (size := len(chosen.own)):
            raise UserError(f"graph {chosen.name} has no nodes: give a graph with a node for each person")
        raise UserError(
            f"graph {chosen.name} has {size:,} nodes, but {agents:,} agents were requested: set --agents {size}"
        )
    return chosen


def build_links(graph: ChosenGraph, codes: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    """Return who hears whom in the first step: (n, n), a row for each agent; data are weights.

    codes: (n,) places in `names` of the parties.

    Errors: UserError on a graph that cannot be built.
    """
    try:
        if times := graph.timetable:
            return times.at_start(len(codes))
        if isinstance(graph.own, EdgeTable):
            return graph.own.array()
        if graph.own is not None:
            return sparse_graphs.from_networkx(graph.own)
        assert graph.options is not None
        array = graph.options.array(codes, generator)
        return array if array is not None else _build_by_networkx(graph.options, codes, names, generator)
    except ValueError as error:
        raise UserError(f"graph {graph.name}: {error}") from error


def open_timetable(graph: ChosenGraph, steps: int, rewired: bool) -> LinkTimetable | None:
    """Return the steps in which links exist; None for links that stay.

    Errors: UserError for rewiring, and if no link exists in steps 1 to `steps`.
    """
    times = graph.timetable
    if times and rewired:
        raise UserError(
            f"links of graph {graph.name} have rounds, so --rewiring cannot change them: leave out --rewiring"
        )
    if times and not ((times.first <= steps) & (times.last >= 1)).any():
        raise UserError(
            f"graph {graph.name}: no link exists in steps 1 to {steps}, because the first link starts at step "
            f"{np.min(times.first):g}: count `start` and `end` from 1"
        )
    return times


def check_signs(weights: Floats, law: Law, name: str) -> None:
    """Errors: UserError if links have the sign -1, but the law knows no such links. weights: of links. name: of the law."""
    if not law.signed and len(weights) and np.min(weights) < 0:
        signed = ", ".join(law_name for law_name in LAWS.builtin() if LAWS.find(law_name).signed)
        raise UserError(
            f"the graph has hostile links (sign -1), which the law {name} cannot use: choose {signed}, or "
            "leave these links out"
        )


def _build_by_networkx(graph: Graph, codes: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    if len(codes) > sparse_graphs.MOST:
        raise ValueError(f"{len(codes):,} nodes: this graph is built by networkx, up to {sparse_graphs.MOST:,}")
    seats = tuple(names[code] for code in codes)
    graph.fits(seats)
    built = graph.build(seats, Random(int(generator.integers(2**63))))
    return sparse_graphs.from_networkx(built, range(len(seats)))
