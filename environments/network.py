"""network: a population in which links decide who hears whom.

Options
    parties     the parties of the agents, in turn (first, second: the debaters of the society); one named twice has twice the
                share
    size        how many agents there are (60)
    graph       the links at the start: complete, ring, small_world, scale_free, random, blocks, geometric, file
                (environments/graphs.py)
    rule        who meets whom in a round: neighbours, pairs, posts, sequential, bounded_confidence
                (environments/rules.py)
    activation  who speaks in a round: every, share, poisson, hawkes (environments/activation.py)
    rewiring    how links change between rounds: none, nearer (environments/rewiring.py)
    timing      simultaneous (default): an agent hears a round only after it has spoken; sequential: one after another
    order       as for round_table, of agents who speak one after another (reshuffled)
    mix         a survey file whose weighted shares of parties, and of variants of personas, the agents have, in place of
                `parties`: mix=survey.csv,party=COLUMN (environments/survey_table.py)

Graph, rule, activation and rewiring may have options of their own: `graph=small_world,degree=6,rewired=0.1`
(docs/networks.md). One room is one population. Its graph is drawn for each repetition and is the same on every topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from parley.environments._social_graph import Feed, Pairs, SocialGraph
from parley.environments.activation import ACTIVATION
from parley.environments.base import Group, Order, Room, Turn, seats_by_share, speaking_order
from parley.environments.graphs import GRAPHS, File, Graph, Node
from parley.environments.link_attributes import Ties
from parley.environments.rewiring import REWIRING
from parley.environments.rules import RULES, Rule
from parley.environments.survey_table import Survey, open_survey


@dataclass(frozen=True)
class Network:
    """A networked population; options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 60
    graph: Annotated[str, GRAPHS] = "blocks"
    rule: Annotated[str, RULES] = "neighbours"
    activation: Annotated[str, ACTIVATION] = "every"
    rewiring: Annotated[str, REWIRING] = "none"
    timing: Literal["simultaneous", "sequential"] = "simultaneous"
    order: Order = "reshuffled"
    mix: str = ""

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        RULES.get(self.rule), ACTIVATION.get(self.activation), REWIRING.get(self.rewiring)
        if self.mix:
            self._check_mix()
        elif self.size < len(set(self.parties)):
            raise ValueError(f"size must be at least {len(set(self.parties))}: one of each party")
        self._graph.fits(self.groups()[0].seats)
        if self.rewiring != "none" and self._graph.changing:
            raise ValueError(
                "links of the graph have a start or an end, so they change as the graph says: leave out rewiring, "
                "or remove start and end"
            )

    def _check_mix(self) -> None:
        """Errors: ValueError or UserError if seats cannot be by the shares of the survey."""
        if self.survey is None or not self.survey.party or self.survey.opinion:
            raise ValueError(
                "mix needs party=COLUMN and takes no opinion: agents of a debate have opinions of their own"
            )
        if self._graph.people if isinstance(self._graph, File) else ():
            raise ValueError("the nodes of the graph have parties: leave out mix, or remove the attribute party")
        shares = self.survey.read().shares
        if absent := sorted(set(shares).difference(seats_by_share(shares, self.size)), key=shares.__getitem__):
            raise ValueError(
                f"{absent[-1]} has a share of {shares[absent[-1]]:.2g} in the survey, so it has no seat of {self.size}: "
                "set a larger size, merge parties with names=(VALUE:NAME), or leave it out with missing=VALUE"
            )

    @property
    def survey(self) -> Survey | None:
        """The survey whose shares of parties the agents have; None without one."""
        return open_survey(self.mix) if self.mix else None

    @property
    def _graph(self) -> Graph:
        graph: Graph = GRAPHS.get(self.graph)
        return graph

    @property
    def _rule(self) -> Rule:
        rule: Rule = RULES.get(self.rule)
        return rule

    @property
    def by_attitude(self) -> bool:
        return bool(self._rule.by_attitude or REWIRING.get(self.rewiring).by_attitude)

    @property
    def changing(self) -> bool:
        return self._rule.changing or self.rewiring != "none" or self._graph.changing

    @property
    def varies(self) -> bool:
        return bool(self._rule.varies or ACTIVATION.get(self.activation).varies)

    @property
    def lasting(self) -> int:
        return int(self._rule.lasting)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the graph and the survey are read from."""
        graph = self._graph.files if isinstance(self._graph, File) else ()
        return graph + (self.survey.files if self.survey else ())

    @property
    def own_graph(self) -> bool:
        """Whether the graph is the user's own, from a file or an object, so that its nodes and links are recorded."""
        return isinstance(self._graph, File)

    def groups(self) -> tuple[Group, ...]:
        people = self._graph.people
        seats = tuple(party for party, _ in people)
        if self.survey:
            seats = seats_by_share(self.survey.read().shares, self.size)
        seats = seats or (self.parties * (self.size // len(self.parties) + 1))[: self.size]
        personas = tuple(persona for _, persona in people)
        counted = [f"{number} {party}" if number > 1 else party for party, number in Counter(seats).items()]
        return (Group("+".join(counted), seats, networked=True, people=personas if any(personas) else ()),)

    def links(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """Draw the links at the start. Errors: ValueError if a graph has other people than `parties` and `size` say."""
        if isinstance(self._graph, File) and self._graph.people:
            title, parties = self._graph.title, ",".join(dict.fromkeys(seats))
            if set(seats) != set(self.parties):
                raise ValueError(
                    f"the nodes of {title} are of {parties}, not {','.join(self.parties)}: set parties={parties}"
                )
            if len(seats) != self.size:
                raise ValueError(
                    f"{title} has {len(seats)} nodes, but there are {self.size} agents: set size={len(seats)}"
                )
        return self._graph.pairs(seats, rng)

    def nodes(self, seats: tuple[str, ...], rng: Random) -> tuple[Node, ...]:
        """Return the node of each seat of the user's own graph, by the draws of `links`; empty for other graphs."""
        return self._graph.nodes(seats, rng)

    def ties(self, seats: tuple[str, ...], rng: Random) -> Ties:
        """Return weights, signs and periods of links, by the draws of `links`; empty if they have none."""
        return self._graph.ties(seats, rng)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        society = _society(room)
        active = set(ACTIVATION.get(self.activation).active(room.seated, round_, society))
        speakers = [member for member in speaking_order(room, self.order) if member in active]
        return self._rule.turns(society, speakers, round_, self.timing == "simultaneous")

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        if round_ < 2:
            return (), ()
        society = _society(room)
        if self.rewiring == "none":
            return society.planned_changes(round_)
        changes: tuple[Pairs, Pairs] = REWIRING.get(self.rewiring).changes(society, round_)
        return changes

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        return self._rule.feeds(_society(room), round_)


def _society(room: Room) -> SocialGraph:
    assert room.society is not None, "a networked room has links"
    return room.society
