"""mediated: a group deliberates in private; only the mediator hears its members, and they hear only the mediator.

Options
    parties   the parties of the members, in turn (first, second: the two debaters of the society)
    size      members of a group (5); if the parties cannot share it evenly, groups differ in which party has one more
    sizes     sizes of groups that are mixed in one run, such as 3,4,5: each repetition has groups of each (empty: only size)
    vote      none, or final: at the end every member ranks the draft and the last revision (none)

Round 1: all members give their opinion at the same time, then the mediator writes a draft. Every later round: all
members criticise the mediator's last statement, then the mediator revises it. Two rounds are the episode of the study
of digital representatives (004, case study).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from parley.environments.base import MEDIATOR, Group, Room, Turn


@dataclass(frozen=True)
class Mediated:
    """Private deliberation with a mediator; options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 5
    sizes: tuple[int, ...] = ()
    vote: Literal["none", "final"] = "none"

    def __post_init__(self) -> None:
        if not self.parties or len(set(self.parties)) < len(self.parties):
            raise ValueError("parties must name at least one party, and each party only once")
        if min((self.size, *self.sizes)) < 2:
            raise ValueError("size must be at least 2, because a group needs two people to deliberate")
        if len(set(self.sizes)) < len(self.sizes):
            raise ValueError("sizes must name each size only once, as in sizes=3,4,5")

    def groups(self) -> tuple[Group, ...]:
        return tuple(group for size in self.sizes or (self.size,) for group in self._groups(size))

    def _groups(self, size: int) -> Iterator[Group]:
        """Yield the groups of a size: one, or one for each party that can have one more."""
        shares = len(self.parties) if size % len(self.parties) else 1
        for first in range(shares):
            yield self._group(self.parties[first:] + self.parties[:first], size)

    def _group(self, parties: tuple[str, ...], size: int) -> Group:
        seats = tuple(parties[seat % len(parties)] for seat in range(size))
        return Group("+".join(seats), seats, mediated=True)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        member_form, answer = ("opinion", "draft") if round_ == 1 else ("critique", "revision")
        for number, member in enumerate(room.seated):
            yield Turn(member, (MEDIATOR,), member_form, together=number > 0)
        yield Turn(MEDIATOR, room.seated, answer)
