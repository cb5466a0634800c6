"""Who is in a population, and where they begin, as it stands on the command line.

Who hears whom in a population: the graphs of environments/graphs.py by the same names and options, or one of networkx.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics import Codes, Floats
from parley.environments import sparse_graphs
from parley.environments.graphs import GRAPHS, PARTY, File, Graph
from parley.llm.errors import UserError
from parley.llm.spec import parse_spec

AXIS = (0.0, 10.0)
DETAIL = 100
"""Into how many equal parts a normal start is cut."""


@dataclass(frozen=True)
class Party:
    """Some of the people: their share of all (by weight), and where they begin, as quantiles at equal steps from 0 to 1.

    `Party("all", 1.0, (0.0, 10.0))` is everybody, evenly spread over the axis.
    """

    name: str
    share: float
    starts: tuple[float, ...]


EVERYBODY = (Party("all", 1.0, AXIS),)


def parse_parties(text: str) -> tuple[Party, ...]:
    """`republican:3:1,democrat:8:1:2`: NAME:MEAN:SD[:WEIGHT], normal within the axis; NAME[:WEIGHT] is evenly spread. Errors:
    UserError.

    >>> [party.share for party in parse_parties("a:3:1,b:8:1:2")]
    [1.0, 2.0]
    """
    found = tuple(_party(part) for part in text.split(",")) if text else EVERYBODY
    if len({party.name for party in found}) < len(found):
        raise UserError(f"--parties {text}: a party is named twice")
    return found


def _party(text: str) -> Party:
    name, *rest = text.split(":")
    try:
        numbers = [float(part) for part in rest]
    except ValueError:
        numbers = [math.nan]
    if not name.isidentifier() or len(numbers) > 3 or not all(math.isfinite(number) for number in numbers):
        raise UserError(f"--parties: {text!r} is not NAME, NAME:WEIGHT, NAME:MEAN:SD or NAME:MEAN:SD:WEIGHT")
    share = numbers.pop() if len(numbers) % 2 else 1.0
    if share <= 0 or (numbers and not (AXIS[0] <= numbers[0] <= AXIS[1] and numbers[1] > 0)):
        raise UserError(f"--parties {text}: a mean lies from 0 to 10, a spread and a weight above 0")
    return Party(name, share, _normal(*numbers) if numbers else AXIS)


def _normal(mean: float, spread: float) -> tuple[float, ...]:
    """Quantiles of the normal distribution that is cut off at the ends of the axis."""
    normal = NormalDist(mean, spread)
    low, high = map(normal.cdf, AXIS)
    shares = [low + (high - low) * place / DETAIL for place in range(DETAIL + 1)]
    inner = [normal.inv_cdf(share) if 0 < share < 1 else mean for share in shares[1:-1]]
    ends = [max(AXIS[0], mean - 4 * spread), min(AXIS[1], mean + 4 * spread)]
    return (ends[0], *inner, ends[1])


def seated(parties: tuple[Party, ...], size: int, generator: np.random.Generator) -> Codes:
    """(size,) the place of everybody's party in `parties`: as many of each as its share says, in any order."""
    bounds = np.cumsum([party.share for party in parties]) / sum(party.share for party in parties)
    codes = np.searchsorted(bounds, (np.arange(size) + 0.5) / size)
    return generator.permutation(np.minimum(codes, len(parties) - 1))


def by_node(parties: Sequence[str]) -> tuple[Party, ...]:
    """The parties of the nodes of a graph of one's own, everybody evenly over the axis; none where nodes have none."""
    return tuple([Party(name, float(number), AXIS) for name, number in Counter(parties).items()])


def placed(parties: Sequence[str], names: Sequence[str]) -> Codes:
    """(n,) the place of each node's party in `names`. Errors: UserError on nodes of another party, a party without nodes."""
    if set(parties) != set(names):
        theirs = ",".join(dict.fromkeys(parties))
        raise UserError(
            f"the nodes of the graph are of {theirs}, the parties are {','.join(names)}: name the same ones"
        )
    return np.array([names.index(party) for party in parties], dtype=np.int64)


def begun(parties: tuple[Party, ...], codes: Codes, generator: np.random.Generator) -> Floats:
    """(n,) where everybody begins."""
    drawn, found = generator.random(len(codes)), np.empty(len(codes))
    for code, party in enumerate(parties):
        mine = codes == code
        found[mine] = np.interp(drawn[mine], np.linspace(0, 1, len(party.starts)), party.starts)
    return found


@dataclass(frozen=True)
class Chosen:
    """A graph before it is built. `own` is one that somebody made, from a file or from networkx: it says who its nodes are."""

    name: str
    options: Graph | None = None
    own: nx.Graph | None = None

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes of one's own graph, in their order."""
        return [] if self.own is None else list(map(str, self.own))

    @property
    def parties(self) -> list[str]:
        """The party of each node of one's own graph; empty where they have none. Errors: UserError where some have none."""
        told = [] if self.own is None else [(str(node), found.get(PARTY)) for node, found in self.own.nodes(data=True)]
        if lacking := [node for node, party in told if not party]:
            if len(lacking) < len(told):
                raise UserError(
                    f"graph {self.name}: node {lacking[0]} has no party; give all nodes the attribute, or none"
                )
            return []
        return [str(party) for _, party in told]


def chosen(graph: str | nx.Graph, agents: int) -> Chosen:
    """Return what a spec, NAME[,option=value...], or a graph of networkx stands for, for so many people. Errors: UserError."""
    if isinstance(graph, nx.Graph):
        return _fitting(Chosen("of networkx", own=graph), agents)
    try:
        options: Graph = GRAPHS.open(graph)
        own = options.read() if isinstance(options, File) else None
    except ValueError as error:
        raise UserError(str(error)) from error
    return _fitting(Chosen(parse_spec(graph).name, options, own), agents)


def _fitting(graph: Chosen, agents: int) -> Chosen:
    size = agents if graph.own is None else len(graph.own)
    if size != agents:
        raise UserError(f"graph {graph.name}: it has {size:,} nodes for {agents:,} people; set agents to {size}")
    return graph


def linked(graph: Chosen, members: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    """Return who hears whom: (n, n), a row for each person; data are weights. members: (n,) places in `names` of the parties.

    Errors: UserError on what cannot be built.
    """
    try:
        if graph.own is not None:
            return sparse_graphs.from_networkx(graph.own)
        assert graph.options is not None
        fast = graph.options.array(members, generator)
        return fast if fast is not None else _drawn(graph.options, members, names, generator)
    except ValueError as error:
        raise UserError(f"graph {graph.name}: {error}") from error


def _drawn(graph: Graph, members: Codes, names: Sequence[str], generator: np.random.Generator) -> csr_array:
    """Any other, by way of networkx."""
    if len(members) > sparse_graphs.MOST:
        raise ValueError(f"{len(members):,} nodes: this graph is built by networkx, up to {sparse_graphs.MOST:,}")
    seats = tuple(names[code] for code in members)
    graph.fits(seats)
    built = graph.build(seats, Random(int(generator.integers(2**63))))
    return sparse_graphs.from_networkx(built, range(len(seats)))
