"""The base classes of events, and the list of their kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeVar, dataclass_transform

from parley.llm.studies import loaded

SCHEMA = 2
LOG = "log"
"""The backend in the header of a record that was read from the log of another framework (analysis/logs)."""


@dataclass(frozen=True, slots=True)
class Event:
    """The base class. `kind` is the name of the class in lower case; it comes first in a line of the record.

    `counted` is what a closed answer of an agent is called where missing ones are counted ("decisions"); such an event has the
    fields agent, asked, reason and raw.
    """

    kind: ClassVar[str]
    counted: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class InRound(Event):
    room: str
    round: int


@dataclass(frozen=True, slots=True)
class OfAgent(InRound):
    agent: int


@dataclass(frozen=True, slots=True)
class AtTurn(InRound):
    iteration: int


@dataclass(frozen=True, slots=True)
class AgentAtTurn(AtTurn):
    agent: int


Kind = TypeVar("Kind", bound=Event)
KINDS: dict[str, type[Event]] = {}
"""The classes of events by kind."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def event(cls: type[Kind]) -> type[Kind]:
    """Make a class a kind of event: a frozen dataclass, listed in `KINDS`."""
    made = dataclass(frozen=True, slots=True)(cls)
    made.kind = made.__name__.lower()
    KINDS[made.kind] = made
    return made


def kind_of_event(name: str) -> type[Event] | None:
    """Return the class of a kind, of Parley or of a study; None if there is none."""
    if name not in KINDS:
        loaded("events")
    return KINDS.get(name)
