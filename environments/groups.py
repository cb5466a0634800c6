"""groups: echo chambers, each a round table of agents of one party, with or without a Default.

Options
    parties        one echo chamber per party (first, second: the two debaters of the society)
    size           members of the party in each group (2)
    default_agent  with, without, or both (two groups per party: one with a Default and one without)
    order          as for round_table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from parley.environments.base import Group, Order, Room, Turn
from parley.environments.round_table import RoundTable

ARMS = {"with": (True,), "without": (False,), "both": (True, False)}


@dataclass(frozen=True)
class Groups:
    """Same-party groups (Taubenfeld et al., Figs 5, 8, 9); options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 2
    default_agent: Literal["with", "without", "both"] = "with"
    order: Order = "random_first"

    def __post_init__(self) -> None:
        if self.size < 1 or not self.parties:
            raise ValueError("groups need at least one party (parties) and at least one agent per party (size=1)")
        if len(set(self.parties)) < len(self.parties):
            raise ValueError("parties must name each party once, because two groups cannot have the same name")

    def groups(self) -> tuple[Group, ...]:
        return tuple(self._group(party, arm) for arm in ARMS[self.default_agent] for party in self.parties)

    def _group(self, party: str, with_default: bool) -> Group:
        seats = (party,) * self.size + ("default",) * with_default
        return Group("+".join(seats), seats)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        return RoundTable(order=self.order).turns(room, round_)
