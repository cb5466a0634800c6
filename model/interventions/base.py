"""What an intervention is: when it acts, on whom, what it does; and what those that say something have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from parley.llm.driver import Conversation
from parley.llm.errors import UserError
from parley.llm.registry import name_of
from parley.llm.seeding import stream
from parley.model.events import Event
from parley.model.room import RoomState, RunContext

ALL = "all"
HEARD = "intervention"
"""The form of a line that no agent said."""
TOPIC = "{topic}"
"""Stands in a text for what the room is about."""
View = Callable[[int], float | None]
"""The last recorded attitude of an agent (0-10); None where there is none."""
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}")


class Act(NamedTuple):
    """What was done to some agents of a room (see model.events.Intervened), and further events that tell it."""

    agents: tuple[int, ...]
    text: str | None = None
    by: str = ""
    reason: str | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Intervention(ABC):
    """Something that happens to agents of a room from outside, before a round. The base of every kind.

    Parameters
    ----------
    round : int
        Before which round it acts, from 1.
    to : tuple of str
        Parties or seat labels; all by default.
    share : float
        The share of these in every room. What is no whole number of people is rounded up or down by chance.
    every : int
        0: once. n: again after every n rounds, on the same agents, to the end.
    rooms : tuple of str
        Only in these rooms, by their names in the record; empty for all of them.

    Raises
    ------
    UserError
        A value is out of range.

    Notes
    -----
    On whom a share falls depends on seed, room, kind, round and `to` alone: the same people hear another text in another run.
    `kind` is the name that it is found by. `reaches_absent`: it acts on those too who are not there.

    Examples
    --------
    >>> news = parley.Shock(round=3, text="A report came out.")  # doctest: +SKIP
    >>> parley.DebateModel("three_way", interventions=[news], llm="oracle")  # doctest: +SKIP
    """

    networked: ClassVar[bool] = False
    reaches_absent: ClassVar[bool] = False
    kind: str = field(default="", init=False)
    round: int
    to: tuple[str, ...] = (ALL,)
    share: float = 1.0
    every: int = 0
    rooms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", name_of(type(self)))
        object.__setattr__(self, "to", names_phrase(self.kind, "to", self.to))
        if self.round < 1 or self.every < 0:
            raise UserError(f"{self.kind}: round must be at least 1 and every at least 0")
        if not 0 < self.share <= 1:
            raise UserError(f"{self.kind}: share must be above 0 and at most 1, not {self.share}")

    @abstractmethod
    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        """Do it to these agents of the room, and say what was done. Nobody's count of turns changes."""

    def control(self) -> Intervention | None:
        """What stands in its place in the branch without it; None: nothing."""
        return None

    def hold(
        self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int, context: RunContext
    ) -> Conversation[list[Act]]:
        """The same as a conversation, for a kind that asks a model."""
        yield from ()
        return list(self.act(room, agents, attitude, round_))

    def placebo(self) -> Intervention:
        """What stands in its place in the branch in which what is said has no content: by default itself."""
        return self

    def due(self, round_: int) -> bool:
        """Does it act before this round?"""
        since = round_ - self.round
        return since == 0 or (since > 0 and self.every > 0 and since % self.every == 0)

    def chosen(self, room: RoomState, seed: int) -> tuple[int, ...]:
        """On whom in this room, in seat order."""
        if self.rooms and room.id not in self.rooms:
            return ()
        meant = self.meant(room, self.to)
        if self.share == 1:
            return meant
        draw = stream(seed, HEARD, self.kind, self.round, self.to, room.id)
        drawn = set(draw.sample(meant, min(int(self.share * len(meant) + draw.random()), len(meant))))
        return tuple([number for number in meant if number in drawn])

    def whom(self) -> tuple[str, ...]:
        """Every party and seat that it names."""
        return self.to

    @staticmethod
    def meant(room: RoomState, names: tuple[str, ...]) -> tuple[int, ...]:
        """Those of a room whose party or seat is named, in seat order."""
        parties = {number: member.persona.party for number, member in room.members.items()}
        return tuple([number for number, seat in room.seats.items() if {ALL, seat, parties[number]} & set(names)])


@dataclass(frozen=True, kw_only=True)
class Presence(Intervention):
    """Somebody comes or goes (join, leave). `never`: nobody does, which is what it is compared with."""

    reaches_absent = True
    never: bool = False

    def due(self, round_: int) -> bool:
        return not self.never and super().due(round_)

    def control(self) -> Intervention | None:
        return replace(self, never=True)


@dataclass(frozen=True, kw_only=True)
class Saying(Intervention):
    """One that says a line: it is heard and remembered as any line is, and asks nobody for a reply.

    by     whose name it stands under
    text   the line; {topic} stands for what the room is about
    EMPTY  the line of a placebo: it asks for nothing, and says nothing of any topic
    """

    EMPTY: ClassVar[str] = "One moment, please, before you go on."
    by: str
    text: str

    def placebo(self) -> Intervention:
        return replace(self, text=self.EMPTY)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_line(self.kind, self.by, self.text)

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        yield line_events(room, agents, self.by, self.text)


def names_phrase(kind: str, key: str, entries: tuple[str, ...]) -> tuple[str, ...]:
    """Names out of entries with commas. Errors: UserError for none, and for others beside all."""
    found = tuple([name for entry in entries for part in entry.split(",") if (name := part.strip())])
    if not found or (ALL in found and len(found) > 1):
        raise UserError(f"{kind}: {key} must name parties or seats, or be all")
    return found


def line_events(room: RoomState, agents: tuple[int, ...], by: str, text: str) -> Act:
    """Have these agents hear a line."""
    text = text.replace(TOPIC, next(iter(room.members.values())).topic.title)
    for agent in agents:
        room.members[agent].hear(by, text, HEARD)
    return Act(agents, text, by)


def check_line(kind: str, by: str, text: str) -> None:
    """Errors: UserError for a name that could not stand before a line, and for no text."""
    if not _NAME.fullmatch(by):
        raise UserError(f"{kind}: by must be a name of one to four words, not {by!r}")
    if not text:
        raise UserError(f"{kind}: text must not be empty")
