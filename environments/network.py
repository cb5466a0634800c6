"""network: a population in which links say who hears whom; a round table is the complete graph of a few people.

Options
    parties     the parties of the people, in turn (republican, democrat); a party named twice has twice the share
    size        how many people there are (60)
    graph       the links at the start: complete, ring, small_world, scale_free, random, blocks, geometric, file
                (environments/graphs.py)
    rule        who meets whom in a round: neighbours, pairs, posts, sequential, bounded_confidence
                (environments/rules.py)
    activation  who speaks in a round: every, share, poisson, hawkes (environments/activation.py)
    rewiring    how links change between rounds: none, nearer (environments/rewiring.py)
    timing      simultaneous (default): nobody hears anybody of a round before it has spoken; sequential: one after
                another
    order       as for round_table, of those who speak one after another (reshuffled)

Graph, rule, activation and rewiring may have options of their own: `graph=small_world,degree=6,rewired=0.1`
(docs/networks.md). One room is one population. Its graph is drawn for each repetition, the same on every topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from parley.environments._social_graph import Feed, Pairs, SocialGraph
from parley.environments.activation import ACTIVATION
from parley.environments.base import Group, Order, Room, Turn, speaking_order
from parley.environments.graphs import GRAPHS, File, Node
from parley.environments.rewiring import REWIRING
from parley.environments.rules import RULES
from parley.llm.registry import Registry


@dataclass(frozen=True)
class Network:
    """A networked population; see the module's manual page."""

    parties: tuple[str, ...] = ("republican", "democrat")
    size: int = 60
    graph: Annotated[str, GRAPHS] = "blocks"
    rule: Annotated[str, RULES] = "neighbours"
    activation: Annotated[str, ACTIVATION] = "every"
    rewiring: Annotated[str, REWIRING] = "none"
    timing: Literal["simultaneous", "sequential"] = "simultaneous"
    order: Order = "reshuffled"

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        for registry, spec in self._choices():
            registry.get(spec)
        if self.size < len(set(self.parties)):
            raise ValueError(f"size must be at least {len(set(self.parties))}: one of each party")
        GRAPHS.get(self.graph).fits(self.groups()[0].seats)

    def _choices(self) -> list[tuple[Registry, str]]:
        return [
            (GRAPHS, self.graph),
            (RULES, self.rule),
            (ACTIVATION, self.activation),
            (REWIRING, self.rewiring),
        ]

    @property
    def by_attitude(self) -> bool:
        return bool(RULES.get(self.rule).by_attitude or REWIRING.get(self.rewiring).by_attitude)

    @property
    def changing(self) -> bool:
        return bool(RULES.get(self.rule).changing or self.rewiring != "none")

    @property
    def varies(self) -> bool:
        return bool(RULES.get(self.rule).varies or ACTIVATION.get(self.activation).varies)

    @property
    def lasting(self) -> int:
        return int(RULES.get(self.rule).lasting)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the graph is read from."""
        path = getattr(GRAPHS.get(self.graph), "path", None)
        return (path,) if path else ()

    @property
    def own_graph(self) -> bool:
        """Whether the links are a graph of the user's, from a file or an object, whose nodes and weights are recorded."""
        return isinstance(GRAPHS.get(self.graph), File)

    @property
    def _title(self) -> str:
        return str(GRAPHS.get(self.graph).title)

    def _people(self) -> tuple[tuple[str, str], ...]:
        people: tuple[tuple[str, str], ...] = GRAPHS.get(self.graph).people
        return people

    def groups(self) -> tuple[Group, ...]:
        people = self._people()
        seats = tuple(party for party, _ in people)
        seats = seats or (self.parties * (self.size // len(self.parties) + 1))[: self.size]
        named = tuple(persona for _, persona in people)
        counted = [f"{number} {party}" if number > 1 else party for party, number in Counter(seats).items()]
        return (Group("+".join(counted), seats, networked=True, people=named if any(named) else ()),)

    def links(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        self._check_people(seats)
        pairs: Pairs = GRAPHS.get(self.graph).pairs(seats, rng)
        return pairs

    def _check_people(self, seats: tuple[str, ...]) -> None:
        """Errors: ValueError where a file has other people than `parties` and `size` say."""
        if not self._people():
            return
        if set(seats) != set(self.parties):
            own = ",".join(dict.fromkeys(seats))
            raise ValueError(
                f"the nodes of {self._title} are of {own}, not {','.join(self.parties)}: set parties={own}"
            )
        if len(seats) != self.size:
            raise ValueError(f"{self._title} has {len(seats)} nodes for {self.size} people: set size={len(seats)}")

    def nodes(self, seats: tuple[str, ...], rng: Random) -> tuple[Node, ...]:
        """The node of each seat of a graph from a file, by the draws of `links`; empty for other graphs."""
        nodes: tuple[Node, ...] = GRAPHS.get(self.graph).nodes(seats, rng)
        return nodes

    def weights(self, seats: tuple[str, ...], rng: Random) -> dict[tuple[int, int], float]:
        """The weights of links, by the draws of `links`; empty where they have none."""
        weights: dict[tuple[int, int], float] = GRAPHS.get(self.graph).weights(seats, rng)
        return weights

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        society = _society(room)
        active = set(ACTIVATION.get(self.activation).active(room.seated, round_, society))
        speakers = [member for member in speaking_order(room, self.order) if member in active]
        turns: Iterator[Turn] = RULES.get(self.rule).turns(society, speakers, round_, self.timing == "simultaneous")
        return turns

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        if round_ < 2:
            return (), ()
        changes: tuple[Pairs, Pairs] = REWIRING.get(self.rewiring).changes(_society(room), round_)
        return changes

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        feeds: Iterator[Feed] = RULES.get(self.rule).feeds(_society(room), round_)
        return feeds


def _society(room: Room) -> SocialGraph:
    assert room.society is not None, "a networked room has links"
    return room.society
