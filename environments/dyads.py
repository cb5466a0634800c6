"""dyads: pairs that talk; everyone talks once with every other, then it begins again.

In rounds 1 .. n - 1 each talks once with every other.

Options
    seats      who sits there, an even number (first, second, first, second)
    exchanges  how often each agent of a pair speaks in a talk (3)
    posts      who reads the public post that each writes before a talk: partner, room, or none (no posts are written)

In a round all pairs talk at the same time, and no one else hears them. Who meets whom first, and who opens, is drawn
once for each room (the circle method of round-robin tournaments on that order). In the record of a round the openers of
all pairs speak first, and their partners answer in the same order (`partners` reads it back).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from parley.environments.base import Group, Room, Turn

POST, TALK = "post", "talk"


@dataclass(frozen=True)
class Dyads:
    """The groups of DEBATE (Chuang et al. 2025); options: see the top of this file."""

    seats: tuple[str, ...] = ("first", "second", "first", "second")
    exchanges: int = 3
    posts: Literal["partner", "room", "none"] = "partner"
    narrow: ClassVar[bool] = True
    often: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.seats or len(self.seats) % 2:
            raise ValueError("seats must name an even number of people, because they talk in pairs")
        if self.exchanges < 1:
            raise ValueError("exchanges must be at least 1")

    def groups(self) -> tuple[Group, ...]:
        return (Group("+".join(self.seats), tuple(self.seats)),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        talks = pairs(room.shuffled, round_)
        if self.posts != "none":
            yield from self._posts(room, talks)
        for _ in range(self.exchanges):
            for side in (0, 1):
                for number, pair in enumerate(talks):
                    yield Turn(pair[side], (pair[1 - side],), TALK, together=number > 0)

    def _posts(self, room: Room, talks: Sequence[tuple[int, int]]) -> Iterator[Turn]:
        partner = {person: other for pair in talks for person, other in (pair, pair[::-1])}
        for number, writer in enumerate(room.seated):
            others = tuple([member for member in room.seated if member != writer])
            yield Turn(writer, others if self.posts == "room" else (partner[writer],), POST, together=number > 0)


def pairs(ids: Sequence[int], round_: int) -> list[tuple[int, int]]:
    """Return who talks with whom in round 1, 2, ..., the opener first, for an even number of ids.

    >>> [pairs((1, 2, 3, 4), round_) for round_ in (1, 2, 3)]
    [[(1, 4), (2, 3)], [(2, 1), (3, 4)], [(1, 3), (4, 2)]]
    """
    first, *others = ids
    turned = (round_ - 1) % len(others)
    line = [first, *others[turned:], *others[:turned]]
    talks = [(line[place], line[-1 - place]) for place in range(len(line) // 2)]
    return (
        talks
        if round_ % 2
        else [(partner, opener) if opener == first else (opener, partner) for opener, partner in talks]
    )


def partners(speakers: Sequence[int]) -> dict[int, int]:
    """Return who talked with whom in a round, from the order in which they spoke.

    >>> partners([1, 2, 4, 3, 1, 2, 4, 3])
    {1: 4, 2: 3, 4: 1, 3: 2}
    """
    people = list(dict.fromkeys(speakers))
    openers, others = people[: len(people) // 2], people[len(people) // 2 :]
    return dict(zip(openers, others, strict=True)) | dict(zip(others, openers, strict=True))
