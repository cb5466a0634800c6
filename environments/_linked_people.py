"""What environments of linked people have in common: who they are, their links at the start, and who is active."""

from __future__ import annotations

from random import Random

from parley.environments._social_graph import Pairs, SocialGraph
from parley.environments.activation import ACTIVATION
from parley.environments.base import Group, Order, Room, counted, seats_by_share, seats_in_turn, speaking_order
from parley.environments.graphs import GRAPHS, File, Graph, Node
from parley.environments.link_attributes import Ties
from parley.environments.survey_table import Survey, open_survey


class LinkedPeople:
    """The base class of environments in which links decide who hears whom. Subclasses are dataclasses with these options."""

    parties: tuple[str, ...]
    size: int
    graph: str
    activation: str
    order: Order
    mix: str

    def check_people(self) -> None:
        """Errors: ValueError or UserError if people, graph and activation do not fit."""
        if not self.parties:
            raise ValueError("parties must name at least one party")
        ACTIVATION.get(self.activation)
        if self.mix:
            self._check_mix()
        elif self.size < len(set(self.parties)):
            raise ValueError(f"size must be at least {len(set(self.parties))}, because each party needs an agent")
        self._graph.fits(self.groups()[0].seats)

    def _check_mix(self) -> None:
        """Errors: ValueError or UserError if seats cannot be by the shares of the survey."""
        if self.survey is None or not self.survey.party or self.survey.opinion:
            raise ValueError(
                "mix: the survey needs party=COLUMN, but no opinion=COLUMN, because agents state their own opinions"
            )
        if self._graph.people if isinstance(self._graph, File) else ():
            raise ValueError("the nodes of the graph have parties: leave out mix, or remove the attribute party")
        shares = self.survey.read().shares
        if absent := sorted(set(shares).difference(seats_by_share(shares, self.size)), key=shares.__getitem__):
            raise ValueError(
                f"{absent[-1]} has a share of {shares[absent[-1]]:.2g} in the survey, too small for one of {self.size} seats: "
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
        seats = seats or seats_in_turn(self.parties, self.size)
        personas = tuple(persona for _, persona in people)
        return (Group(counted(seats), seats, networked=True, people=personas if any(personas) else ()),)

    def links(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """Draw the links at the start. Errors: ValueError if a graph has other people than `parties` and `size` say."""
        if isinstance(self._graph, File) and self._graph.people:
            title, parties = self._graph.title, ",".join(dict.fromkeys(seats))
            if set(seats) != set(self.parties):
                raise ValueError(
                    f"the nodes of {title} have the parties {parties}, not {','.join(self.parties)}: set parties={parties}"
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

    def active_members(self, room: Room, round_: int) -> list[int]:
        """Return the members who are active in a round, in the order of speaking."""
        active = set(ACTIVATION.get(self.activation).active(room.seated, round_, society_of(room)))
        return [member for member in speaking_order(room, self.order) if member in active]


def society_of(room: Room) -> SocialGraph:
    """Return the links and posts of a networked room."""
    assert room.society is not None, "a networked room has links"
    return room.society
