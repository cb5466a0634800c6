"""Reads and writes the record (one event per line of JSON), and recorders: where the events of a run go."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from parley.llm.errors import UserError
from parley.llm.trust import note_named
from parley.llm.value_types import read_json, typed
from parley.model.events import KINDS, SCHEMA, Event, Header, Seated, kind_of_event
from parley.model.files import file_errors
from parley.model.kept_files import note_files

WRITTEN = 4096
"""Events that are made into text at once."""


class Recorder(Protocol):
    def write(self, events: Iterable[Event]) -> None:
        """Keep the events, in order."""


@runtime_checkable
class Preview(Protocol):
    """A recorder that also gets what a room does before the other rooms have done theirs, for a page that shows it at once.

    Neither changes the record.
    """

    def preview(self, event: Event) -> None:
        """An event that will be written later."""

    def asks(self, agent: int, seed: int) -> None:
        """A request with this seed is about to be made for an agent."""


@runtime_checkable
class Placed(Protocol):
    """A recorder of a part of a run, which keeps where in the whole record its events belong."""

    def place(self, phase: int, room: int) -> None:
        """What is written next is of this phase, and of the room with this place in the whole run."""


@dataclass(frozen=True, slots=True)
class Slot(Event):
    """No event: it says where the next events of an agent stand among those of all agents of a network in a phase."""

    step: int
    part: int
    place: int


class NullRecorder:
    """Keeps nothing: for sweeps that read the DataCollector, and for benchmarks."""

    def write(self, events: Iterable[Event]) -> None:
        return None


class MemoryRecorder:
    """Keeps a list of events: for tests and for the page."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Iterable[Event]) -> None:
        self.events += events


class FileRecorder:
    """Writes lines of JSON, and flushes them at each write. Then passes the events to `watcher`, if there is one.

    Errors: UserError when the file cannot be written.
    """

    def __init__(self, path: Path, watcher: Recorder | None = None):
        self.path, self.watcher, self.count = path, watcher or NullRecorder(), 0
        self._preview = (
            watcher if isinstance(watcher, Preview) else None
        )  # asked once: each call would take 20 microseconds
        with self._errors():
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # lives as long as the run

    def write(self, events: Iterable[Event]) -> None:
        if not isinstance(events, Sequence):
            events = list(events)
        for start in range(0, len(events), WRITTEN):
            block = events[start : start + WRITTEN]
            self.append("".join(map(to_line, block)), len(block))
        self.watcher.write(events)

    def append(self, lines: str, count: int) -> None:
        """Write lines with so many events."""
        with self._errors():
            self._file.write(lines)
            self._file.flush()
        self.count += count

    def preview(self, event: Event) -> None:
        if self._preview:
            self._preview.preview(event)

    def asks(self, agent: int, seed: int) -> None:
        if self._preview:
            self._preview.asks(agent, seed)

    def replace_first(self, event: Event) -> None:
        """Put another event in place of the first one."""
        with self._errors():
            self._file.close()
            _, lines = self.path.read_text(encoding="utf-8").split("\n", 1)
            temporary = self.path.with_name(f"{self.path.name}.tmp")
            temporary.write_text(to_line(event) + lines, encoding="utf-8")
            os.replace(temporary, self.path)
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115  # as before
        self.watcher.write([event])

    def close(self) -> None:
        with self._errors():
            self._file.close()

    def _errors(self) -> AbstractContextManager[None]:
        return file_errors(f"cannot write {self.path}", "; all replies are saved in the journal")


_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def to_line(event: Event) -> str:
    """Return the event as one line of JSON, with its kind first."""
    return _encode({"kind": event.kind, **{name: getattr(event, name) for name in _names(event.kind)}}) + "\n"


@cache
def _names(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(KINDS[kind]))


def from_line(line: str) -> Event:
    """Return the event of a line. Errors: ValueError for a torn line, an unknown kind or field, a value of a type that the field
    does not have, another schema.
    """
    values = read_json(line)
    kind = values.pop("kind", None) if isinstance(values, dict) else None
    cls = kind_of_event(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ValueError("no event")
    if values.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(f"record schema {values['schema']}; this version reads {SCHEMA}")
    event = typed(cls, values)
    if isinstance(event, Header):
        note_named(event.scenario)
    elif isinstance(event, Seated) and not event.topic.isidentifier():
        note_named(event.topic)
    return event


def read_lines(path: Path, read: Callable[[bytes], Any] = lambda line: None) -> Iterator[Any]:
    """Yield the events of a record. A torn last line, as of a killed run, is left out. Errors: UserError without a record.

    read: reads a line in another way; where it returns None, the line is read as an event.
    """
    with file_errors(f"cannot read the record {path}"), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if (event := read(line)) is None:
                    event = from_line(line.decode())
            except ValueError as error:
                if not line.endswith(b"\n"):  # only the last one
                    return
                raise UserError(
                    f"{path}, line {number} cannot be read ({error}): the file is damaged or from another version of Parley"
                ) from error
            if isinstance(event, Header):
                note_files(path.parent, event.scenario)
            yield event
