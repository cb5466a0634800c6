"""What an environment is: options in a frozen dataclass, `groups()` and `turns()`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple, Protocol, get_args

from parley.environments._social_graph import Feed, Pairs, SocialGraph

Order = Literal["random_first", "random_second", "random", "reshuffled", "fixed"]


MEDIATOR = 0
"""The id of the mediator, in every room that has one; members are numbered from 1."""


class Group(NamedTuple):
    """People seated together, by party or PARTY:VARIANT; `name` labels the condition in tables and figures.

    `mediated`: whether a mediator is with them, who has no seat of its own. `networked`: whether links say who hears
    whom. `people`: the name of the persona that each seat is for, "" for anyone; empty where no seat is for one.
    """

    name: str
    seats: tuple[str, ...]
    mediated: bool = False
    networked: bool = False
    people: tuple[str, ...] = ()

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
    `reshuffle()` draws a new order (a stream of its own for each room and round). `society` is what a network knows of
    it.
    """

    seated: tuple[int, ...]
    shuffled: tuple[int, ...]
    reshuffle: Callable[[], tuple[int, ...]]
    society: SocialGraph | None = None


class Turn(NamedTuple):
    """One reply: who speaks and who hears it.

    `form` is what is asked for (opinion, draft, critique, revision; post, talk; "" for whatever the format of the
    debate has in this round). `together`: asked at once with the turn before it, so that neither hears the other first.
    """

    speaker: int
    hearers: tuple[int, ...]
    form: str = ""
    together: bool = False


class Environment(Protocol):
    """Stateless: the same room and round give the same turns.

    Everybody speaks once a round, everybody else hears it. One that differs says so by a class variable: `often` (as
    often as everybody else), `narrow` (some of the others hear a turn), `silent` (how many of the last seats hear and
    do not speak).
    """

    def groups(self) -> tuple[Group, ...]:
        """The groups seated side by side, once per topic and repetition."""

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        """The turns of round 1, 2, ... in one room. Who hears whom is decided here and nowhere else."""


class Networked(Environment, Protocol):
    """An environment whose groups are populations: links, which may change, say who hears whom."""

    @property
    def by_attitude(self) -> bool:
        """Whether attitudes decide anything: then they have to be asked for after every round."""

    @property
    def changing(self) -> bool:
        """Whether those whom somebody hears may be others in another round."""

    @property
    def varies(self) -> bool:
        """Whether chance decides how many speak in a round."""

    @property
    def lasting(self) -> int:
        """For how many rounds what was said can be shown; 0 where there is no wall."""

    def links(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """The links at the start, as pairs of seat numbers from 0: the first hears the second."""

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        """The links (by id) that vanish before a round, and those that appear."""

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        """What is shown to whom once a round's turns were held, out of what is on the wall."""


def concurrent_turns(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """The turns in the lots in which they are asked: each by itself, or with those that go together with it.

    >>> [len(wave) for wave in concurrent_turns([Turn(1, ()), Turn(2, (), together=True), Turn(3, ())])]
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
    random_second: likewise from the seat after that one: the same room with another first speaker.
    random: an order drawn once per room. reshuffled: drawn anew each round. fixed: seat order from the first seat.
    """
    if order in ("random_first", "random_second"):
        start = (room.seated.index(room.shuffled[0]) + (order == "random_second")) % len(room.seated)
        return room.seated[start:] + room.seated[:start]
    if order == "random":
        return room.shuffled
    if order == "reshuffled":
        return room.reshuffle()
    if order == "fixed":
        return room.seated
    raise ValueError(f"order {order!r} is none of {', '.join(get_args(Order))}")


def in_range(low: float, high: float, **options: float) -> None:
    """Errors: ValueError for an option outside [low, high] (nan is outside)."""
    for name, value in options.items():
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low:g} to {high:g}, not {value:g}")
