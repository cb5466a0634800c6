"""What an environment is: options in a frozen dataclass, `groups()` and `turns()`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol, get_args

Order = Literal["random_first", "random", "reshuffled", "fixed"]


MEDIATOR = 0
"""The id of the mediator, in every room that has one; members are numbered from 1."""


class Group(NamedTuple):
    """People seated together, by party or PARTY:VARIANT; `name` labels the condition in tables and figures.

    `mediated`: whether a mediator is with them, who has no seat of its own.
    """

    name: str
    seats: tuple[str, ...]
    mediated: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """What each seat is called: its kind, numbered where there are several of one.

        >>> Group("", ("republican", "republican", "democrat:male")).labels
        ('republican 1', 'republican 2', 'democrat male')
        """
        sizes, taken, found = Counter(self.seats), Counter[str](), []
        for seat in self.seats:
            taken[seat] += 1
            kind = seat.replace(":", " ")
            found.append(f"{kind} {taken[seat]}" if sizes[seat] > 1 else kind)
        return tuple(found)


class Room(NamedTuple):
    """One seated group as the environment sees it.

    `seated` are the agents' ids in seat order, `shuffled` the same ids in an order drawn once for this room, and
    `reshuffle()` draws a new order (a stream of its own for each room and round).
    """

    seated: tuple[int, ...]
    shuffled: tuple[int, ...]
    reshuffle: Callable[[], tuple[int, ...]]


class Turn(NamedTuple):
    """One reply: who speaks and who hears it.

    `form` is what is asked for (opinion, draft, critique, revision; "" for whatever the format of the debate has in this round).
    `together`: asked at once with the turn before it, so that neither hears the other first.
    """

    speaker: int
    hearers: tuple[int, ...]
    form: str = ""
    together: bool = False


class Environment(Protocol):
    """Stateless: the same room and round give the same turns."""

    def groups(self) -> tuple[Group, ...]:
        """The groups seated side by side, once per topic and repetition."""

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        """The turns of round 1, 2, ... in one room. Who hears whom is decided here and nowhere else."""


def waves(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """The turns in the lots in which they are asked: each by itself, or with those that go together with it.

    >>> [len(wave) for wave in waves([Turn(1, ()), Turn(2, (), together=True), Turn(3, ())])]
    [2, 1]
    """
    wave: list[Turn] = []
    for turn in turns:
        if wave and not turn.together:
            yield wave
            wave = []
        wave.append(turn)
    if wave:
        yield wave


def speaking_order(room: Room, order: Order) -> Sequence[int]:
    """The ids in the order of speaking.

    random_first: seat order, starting from a seat drawn once per room (001, 4.3: round robin, initial speaker random).
    random: an order drawn once per room. reshuffled: drawn anew each round. fixed: seat order from the first seat.
    """
    if order == "random_first":
        start = room.seated.index(room.shuffled[0])
        return room.seated[start:] + room.seated[:start]
    if order == "random":
        return room.shuffled
    if order == "reshuffled":
        return room.reshuffle()
    if order == "fixed":
        return room.seated
    raise ValueError(f"order {order!r} is none of {', '.join(get_args(Order))}")
