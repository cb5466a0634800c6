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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from parley.environments._linked_people import LinkedPeople, society_of
from parley.environments._social_graph import Feed, Pairs
from parley.environments.activation import ACTIVATION
from parley.environments.base import Order, Room, Turn
from parley.environments.graphs import GRAPHS
from parley.environments.rewiring import REWIRING
from parley.environments.rules import RULES, Rule


@dataclass(frozen=True)
class Network(LinkedPeople):
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
        RULES.get(self.rule), REWIRING.get(self.rewiring)
        self.check_people()
        if self.rewiring != "none" and self._graph.changing:
            raise ValueError(
                "rewiring cannot be used, because links of the graph begin or end in given rounds: leave out "
                "rewiring, or remove the columns start and end"
            )

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
    def by_text(self) -> bool:
        return bool(self._rule.by_text)

    @property
    def lasting(self) -> int:
        return int(self._rule.lasting)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        speakers = self.active_members(room, round_)
        return self._rule.turns(society_of(room), speakers, round_, self.timing == "simultaneous")

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        if round_ < 2:
            return (), ()
        society = society_of(room)
        if self.rewiring == "none":
            return society.planned_changes(round_)
        changes: tuple[Pairs, Pairs] = REWIRING.get(self.rewiring).changes(society, round_)
        return changes

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        return self._rule.feeds(society_of(room), round_)
