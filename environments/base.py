"""What an environment has to offer: a frozen dataclass of options, with `groups()` and `turns()`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal, NamedTuple, Protocol, get_args

from parley.environments._social_graph import Feed, Pairs, SocialGraph

Order = Literal["random_first", "random_second", "random", "reshuffled", "fixed"]


UNDER = " under "
"""The sign between the people of a group and its condition, in the name of the group."""
MEDIATOR = 0
"""The id of the mediator, in every room that has one; members are numbered from 1."""


class Group(NamedTuple):
    """People who sit together, by party or PARTY:VARIANT.

    name       labels the condition in tables and figures
    mediated   whether a mediator is with them, who has no seat
    networked  whether links decide who hears whom
    people     the persona of each seat by name ("": any persona); empty if no seat is reserved
    condition  what is different for this group, where groups of the same people are compared; then they have one graph
    """

    name: str
    seats: tuple[str, ...]
    mediated: bool = False
    networked: bool = False
    people: tuple[str, ...] = ()
    condition: str = ""

    @property
    def people_name(self) -> str:
        """The name without the condition: groups of the same people share it."""
        return self.name.partition(UNDER)[0] if self.condition else self.name

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each seat: its kind, with a number if there are several of this kind.

        >>> Group("", ("labour", "labour", "green:male")).labels
        ('labour 1', 'labour 2', 'green male')
        """
        sizes, seen, labels = Counter(self.seats), Counter[str](), []
        for seat in self.seats:
            seen[seat] += 1
            labels.append(seat.replace(":", " ") + (f" {seen[seat]}" if sizes[seat] > 1 else ""))
        return tuple(labels)


class Room(NamedTuple):
    """One seated group, as an environment sees it.

    seated     the agents' ids in seat order
    shuffled   the same ids in an order drawn once for this room
    reshuffle  draws a new order, from a random stream of its own for each room and round
    society    the links of the room; None unless the group is networked
    """

    seated: tuple[int, ...]
    shuffled: tuple[int, ...]
    reshuffle: Callable[[], tuple[int, ...]]
    society: SocialGraph | None = None


class Turn(NamedTuple):
    """One utterance: who speaks and who hears it.

    form      what is asked for: opinion, draft, critique, revision, post, talk; "" for the usual form of this round
    together  asked at the same time as the turn before it, so that neither speaker hears the other first
    """

    speaker: int
    hearers: tuple[int, ...]
    form: str = ""
    together: bool = False


class Environment(Protocol):
    """What every environment offers. It keeps no state: the same room and round give the same turns.

    Usually every agent speaks once per round and all others hear it. Class variables declare exceptions, which
    `parley.testing.check_environment` checks: `often = True` (every agent speaks more than once, equally often),
    `narrow = True` (only some of the others hear a turn), `silent = 1` (so many of the last seats only listen).

    An environment in which people do something else than debate has more of its own, all optional (`studies/` has some):

    seat()                     the class of the agents in it, made from `model.agent_factory.SeatedAgent`
    play(room, view, model)    a round of a room (model/room.py), as a conversation that returns its events
    problems(scenario)         yields what does not fit together in a scenario, and what to set
    voices                     names of models that have no seat, such as a planner
    knows_topics = False       people hold no opinions on topics, so that a model need not know these
    form = "choice"          the form of its turns and the purpose of their requests, where turns are choices
    controls = {"size": ("People", "How many people choose.")}
                               label and explanation of options in the page
    """

    def groups(self) -> tuple[Group, ...]:
        """Return the groups, which are seated once per topic and repetition."""

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        """Yield the turns of round 1, 2, ... in one room. Only this method decides who hears whom."""


class Networked(Environment, Protocol):
    """An environment whose groups are populations: links, which may change, decide who hears whom."""

    @property
    def by_attitude(self) -> bool:
        """Whether attitudes decide anything, so that there must be a survey after every round."""

    @property
    def changing(self) -> bool:
        """Whether an agent may hear other agents in another round."""

    @property
    def varies(self) -> bool:
        """Whether chance decides how many speak in a round."""

    @property
    def by_text(self) -> bool:
        """Whether the words of posts decide who is shown what."""

    @property
    def lasting(self) -> int:
        """For how many rounds a post can be shown; 0 without posts."""

    def links(self, seats: tuple[str, ...], rng: Random) -> Pairs:
        """Return the links at the start as pairs of seat numbers from 0: the first hears the second."""

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        """Return the links (by id) that vanish before a round, and those that appear."""

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        """Yield the posts that each agent is shown after the turns of a round."""


def concurrent_turns(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Split turns into batches that are asked at the same time.

    >>> [len(batch) for batch in concurrent_turns([Turn(1, ()), Turn(2, (), together=True), Turn(3, ())])]
    [2, 1]
    """
    batch: list[Turn] = []
    for turn in turns:
        if batch and not turn.together:
            yield batch
            batch = []
        batch.append(turn)
    if batch:
        yield batch


def speaking_order(room: Room, order: Order) -> Sequence[int]:
    """Return the ids in the order of speaking.

    random_first   seat order, starting from a seat drawn once per room (001, 4.3: round robin, initial speaker random)
    random_second  the same, starting from the next seat: the same room with another first speaker
    random         an order drawn once per room
    reshuffled     an order drawn anew each round
    fixed          seat order from the first seat
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
    raise ValueError(f"order is {order!r}, but must be one of {', '.join(get_args(Order))}")


def seats_in_turn(parties: tuple[str, ...], size: int) -> tuple[str, ...]:
    """Return as many seats, the parties in turn.

    >>> seats_in_turn(("red", "blue"), 3)
    ('red', 'blue', 'red')
    """
    return (parties * (size // len(parties) + 1))[:size]


def counted(seats: Iterable[str]) -> str:
    """Return how many seats each party has, as the name of a group.

    >>> counted(("red", "blue", "red"))
    '2 red+blue'
    """
    return "+".join(f"{number} {party}" if number > 1 else party for party, number in Counter(seats).items())


def in_range(low: float, high: float, **options: float) -> None:
    """Check that options are within [low, high]. Errors: ValueError, also for nan."""
    for name, value in options.items():
        if not low <= value <= high:
            raise ValueError(f"{name} is {value:g}, but must be between {low:g} and {high:g}")


def seats_by_share(shares: Mapping[str, float], size: int) -> tuple[str, ...]:
    """Return seats of which each kind has its share, by the method of Sainte-Laguë, whatever the size.

    The next seat goes to the kind with the largest share / (2 seats + 1), the first of equal ones.

    >>> seats_by_share({"red": 0.5, "blue": 0.25, "green": 0.25}, 5)
    ('red', 'blue', 'green', 'red', 'red')
    """
    seats, counts = list[str](), Counter[str]()
    for _ in range(size):
        seats.append(max(shares, key=lambda kind: shares[kind] / (2 * counts[kind] + 1)))
        counts[seats[-1]] += 1
    return tuple(seats)
