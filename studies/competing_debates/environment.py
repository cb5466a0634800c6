"""before_judge: agents of one party debate before a judge, who sits with them, hears everything and says nothing.

Options
    parties   one group of debaters per party (first, second: the two debaters of the society)
    size      debaters of a group (2)
    judge     the party of the judge, who has the last seat (default)
    protocol  sequential (each hears the others before it speaks) or simultaneous (all write at once, then read the
              others)
    order     as for round_table, of the debaters; in a simultaneous debate it is the order in which the judge reads
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from parley.environments.base import Group, Order, Room, Turn, speaking_order


@dataclass(frozen=True)
class BeforeJudge:
    """The debates of Carro et al. 2025; options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 2
    judge: str = "default"
    protocol: Literal["sequential", "simultaneous"] = "sequential"
    order: Order = "random_first"
    silent: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not self.parties or len(set(self.parties)) < len(self.parties):
            raise ValueError("parties must name at least one party, and each party only once")
        if self.size < 1:
            raise ValueError("size must be at least 1, so that there is an agent to speak")

    def groups(self) -> tuple[Group, ...]:
        seats = [(party,) * self.size + (self.judge,) for party in self.parties]
        return tuple(Group("+".join(group), group) for group in seats)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        debaters = room.seated[: -self.silent]
        shuffled = tuple([agent for agent in room.shuffled if agent in debaters])
        here = Room(debaters, shuffled, lambda: tuple([agent for agent in room.reshuffle() if agent in debaters]))
        for number, speaker in enumerate(speaking_order(here, self.order)):
            hearers = tuple([member for member in room.seated if member != speaker])
            yield Turn(speaker, hearers, together=self.protocol == "simultaneous" and number > 0)
