"""round_table: one group around a table; each member speaks once per round, and all others hear it.

Options
    seats   the parties seated, in seat order (first, second, default)
    order   random_first (default), random_second, random, reshuffled, fixed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parley.environments.base import Group, Order, Room, Turn, speaking_order


@dataclass(frozen=True)
class RoundTable:
    """The room of Taubenfeld et al.; options: see the top of this file."""

    seats: tuple[str, ...] = ("first", "second", "default")
    order: Order = "random_first"

    def __post_init__(self) -> None:
        if not self.seats:
            raise ValueError("seats must name at least one party")

    def groups(self) -> tuple[Group, ...]:
        return (Group("+".join(self.seats), tuple(self.seats)),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for speaker in speaking_order(room, self.order):
            yield Turn(speaker, tuple([member for member in room.seated if member != speaker]))
