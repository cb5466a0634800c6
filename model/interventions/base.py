"""The base classes of interventions: when an intervention acts, on which agents, and what it does."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

from parley.agents.speech import HEARD
from parley.llm.driver import Conversation
from parley.llm.errors import UserError
from parley.llm.registry import name_of
from parley.llm.seeding import stream
from parley.model.events import Event
from parley.model.room import RoomState

ALL = "all"
TOPIC = "{topic}"
"""Placeholder in a text for the title of the room's topic."""
REPORT = "{report}"
"""Placeholder in a text for the true report of the room's item of news (agents/news.py)."""
View = Callable[[int], float | None]
"""The attitude of an agent (0-10) in the last survey; None if it is missing."""
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}")


class Act(NamedTuple):
    """What was done to some agents of a room (see model.events.Intervened), and further events to record."""

    agents: tuple[int, ...]
    text: str | None = None
    by: str = ""
    reason: str | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """When something happens from outside, and to whom: what interventions in debates and in populations share.

    reaches_absent: whether it also happens to absent people. The keys are those of `Intervention`.
    """

    reaches_absent: ClassVar[bool] = False
    kind: str = field(default="", init=False)
    round: int
    to: tuple[str, ...] = (ALL,)
    share: float = 1.0
    every: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", name_of(type(self)))
        object.__setattr__(self, "to", names_phrase(self.kind, "to", self.to))
        if self.round < 1 or self.every < 0:
            raise UserError(f"{self.kind}: round must be at least 1, and every must be at least 0")
        if not 0 < self.share <= 1:
            raise UserError(f"{self.kind}: share is {self.share}, but must be above 0 and at most 1")

    def due(self, round_: int) -> bool:
        """Return whether it acts before this round."""
        since = round_ - self.round
        return since == 0 or (since > 0 and self.every > 0 and since % self.every == 0)

    def whom(self) -> tuple[str, ...]:
        """Return every party and seat that it names."""
        return self.to


@dataclass(frozen=True, kw_only=True)
class LinkChange(Scheduled):
    """Which links change: what the interventions on links of a debate and of a population share.

    change  remove, or add (links of weight 1)
    hear    parties, seats or nodes whom the addressed people stop or begin to hear (default: all)
    number  how many for each, drawn at random (0: all of them)
    both    whether the links in the other direction change too

    Errors: UserError for a negative number.
    """

    reaches_absent = True
    change: Literal["remove", "add"]
    hear: tuple[str, ...] = (ALL,)
    number: int = 0
    both: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hear", names_phrase(self.kind, "hear", self.hear))
        if self.number < 0:
            raise UserError("links: number must be 0 or more")

    def whom(self) -> tuple[str, ...]:
        return (*self.to, *self.hear)


@dataclass(frozen=True, kw_only=True)
class Intervention(Scheduled, ABC):
    """An event from outside that happens to agents of a room before a round. The base class of every kind.

    Parameters
    ----------
    round : int
        The intervention acts before this round; rounds count from 1.
    to : tuple of str
        Parties or seat labels. Default: all agents.
    share : float
        The share of these agents in every room. A fraction of an agent is rounded up or down at random.
    every : int
        0: once. n: again after every n rounds, on the same agents.
    rooms : tuple of str
        Only in these rooms, by their names in the record. Default: all rooms.

    Raises
    ------
    UserError
        A value is out of range.

    Notes
    -----
    A share is drawn from the seed, the room, the kind, the round and `to`. A run with another text therefore addresses the same
    agents. `kind` is the name of the module. `reaches_absent`: whether it also acts on absent agents. `wordless`: why it is not
    possible in a population.

    Examples
    --------
    >>> news = parley.Shock(round=3, text="A report came out.")  # doctest: +SKIP
    >>> parley.DebateModel("three_way", interventions=[news], llm="oracle")  # doctest: +SKIP
    """

    networked: ClassVar[bool] = False
    wordless: ClassVar[str] = "people of a population do not read words"
    rooms: tuple[str, ...] = ()

    @abstractmethod
    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        """Act on these agents of the room, and yield what was done. The count of turns does not change."""

    def converse(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Conversation[list[Act]]:
        """The same as a conversation. Override it for a kind that asks a model."""
        yield from ()
        return list(self.act(room, agents, attitude))

    @property
    def says_unvalued(self) -> bool:
        """Whether it says a line without the attitude that the line argues for, which a surrogate would need."""
        return False

    def in_words(self, whom: str) -> str:
        """Return what it does to these people, for the page; "" where it is shown as on a command line."""
        return ""

    def control(self) -> Intervention | None:
        """Return what replaces it in the control condition; None: nothing."""
        return None

    def placebo(self) -> Intervention:
        """Return what replaces it in the condition in which its text has no content. Default: itself."""
        return self

    def chosen(self, room: RoomState, seed: int) -> tuple[int, ...]:
        """Return the agents of a room on whom it acts, in seat order."""
        if self.rooms and room.id not in self.rooms:
            return ()
        addressed = self.addressed(room, self.to)
        if self.share == 1:
            return addressed
        draw = stream(seed, HEARD, self.kind, self.round, self.to, room.id)
        drawn = set(draw.sample(addressed, min(int(self.share * len(addressed) + draw.random()), len(addressed))))
        return tuple([number for number in addressed if number in drawn])

    @staticmethod
    def addressed(room: RoomState, names: tuple[str, ...]) -> tuple[int, ...]:
        """Return the agents of a room whose party or seat is named, in seat order."""
        parties = {number: member.persona.party for number, member in room.members.items()}
        return tuple([number for number, seat in room.seats.items() if {ALL, seat, parties[number]} & set(names)])


@dataclass(frozen=True, kw_only=True)
class Saying(Intervention):
    """An intervention that says a line. Agents hear and remember it like any other line, but are not asked to reply.

    by     the name of the speaker
    text   the line; {topic} is replaced by the title of the room's topic, {report} by the true report of its item of news
    value  the attitude that the line argues for, 0-10. Surrogates respond to it, other agents to the text
    EMPTY  the line of a placebo, which has no content
    """

    EMPTY: ClassVar[str] = "One moment, please, before you go on."
    by: str
    text: str
    value: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_line(self.kind, self.by, self.text)
        self.check_value()

    def check_value(self) -> None:
        """Errors: UserError for a value that is not on the axis."""
        if self.value is not None and not 0 <= self.value <= 10:
            raise UserError(f"{self.kind}: value is {self.value:g}, but must be an attitude between 0 and 10")

    @property
    def says_unvalued(self) -> bool:
        return self.value is None and self.text != self.EMPTY

    def placebo(self) -> Intervention:
        return replace(self, text=self.EMPTY, value=None)

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        yield line_events(room, agents, self.by, self.text, self.value)


@dataclass(frozen=True, kw_only=True)
class Switch(Intervention):
    """An intervention that sets attributes of agents, such as `muted`."""

    SETS: ClassVar[Mapping[str, bool]]

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        for agent in agents:
            for name, value in self.SETS.items():
                setattr(room.members[agent], name, value)
        yield Act(agents)


@dataclass(frozen=True, kw_only=True)
class Presence(Switch):
    """Some agents join or leave. With `never` nothing happens: that is the control condition."""

    reaches_absent = True
    never: bool = False

    def due(self, round_: int) -> bool:
        return not self.never and super().due(round_)

    def control(self) -> Intervention | None:
        return replace(self, never=True)


def names_phrase(kind: str, key: str, entries: tuple[str, ...]) -> tuple[str, ...]:
    """Split entries at commas. Errors: UserError without a name, and for other names together with `all`."""
    names = tuple([name for entry in entries for piece in entry.split(",") if (name := piece.strip())])
    if not names or (ALL in names and len(names) > 1):
        raise UserError(f"{kind}: {key} must be all, or names of parties or seats, such as {key}=first")
    return names


def line_events(
    room: RoomState, agents: tuple[int, ...], by: str, text: str, value: float | None = None, form: str = HEARD
) -> Act:
    """Let these agents hear a line. value: the attitude that it argues for, if it is known. form: see `hear_outside`."""
    topic = next(iter(room.members.values())).topic
    text = text.replace(TOPIC, topic.title).replace(REPORT, topic.news.report if topic.news else REPORT)
    for agent in agents:
        room.members[agent].hear_outside(by, text, form, value)
    return Act(agents, text, by)


def check_line(kind: str, by: str, text: str) -> None:
    """Errors: UserError for an empty text, and for a name that is no name of a speaker."""
    if not _NAME.fullmatch(by):
        raise UserError(f"{kind}: the option by is {by!r}, but must be a name of 1 to 4 words, such as by='Ann Lee'")
    if not text:
        raise UserError(f"{kind}: text must not be empty")
