"""The base classes of events, and the list of their kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeVar, dataclass_transform

SCHEMA = 2
LOG = "log"
"""The backend in the header of a record that was read from the log of another framework (analysis/logs)."""


@dataclass(frozen=True, slots=True)
class Event:
    """The base class. `kind` is the name of the class in lower case; it comes first in a line of the record."""

    kind: ClassVar[str]


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
