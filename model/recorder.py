"""Where events go: a file, a list, or nowhere.

The record on disk: an event is one JSON object a line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

from parley.llm.errors import UserError
from parley.model.events import KINDS, SCHEMA, Event


class Recorder(Protocol):
    def write(self, events: Iterable[Event]) -> None:
        """Keep the events, in order."""


class CountingRecorder(Recorder, Protocol):
    """One that knows how many events it has kept, and can say anew what they are of."""

    @property
    def count(self) -> int: ...

    def begin_anew(self, first: Event) -> None: ...


class NullRecorder:
    """Keeps nothing: for sweeps that read the DataCollector and for benchmarks."""

    def write(self, events: Iterable[Event]) -> None:
        return None


class MemoryRecorder:
    """Keeps a list: for tests and for the page."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Iterable[Event]) -> None:
        self.events += events


class FileRecorder:
    """Writes JSON lines, handed to the operating system at each write. Errors: UserError when the file cannot be written."""

    def __init__(self, path: Path):
        self.path, self.count = path, 0
        with self._errors():
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # lives as long as the run

    def write(self, events: Iterable[Event]) -> None:
        lines = [to_line(event) for event in events]
        with self._errors():
            self._file.write("".join(lines))
            self._file.flush()
        self.count += len(lines)

    def begin_anew(self, first: Event) -> None:
        """Put another first line in the place of the one that is there."""
        with self._errors():
            self._file.close()
            _, lines = self.path.read_text(encoding="utf-8").split("\n", 1)
            temporary = self.path.with_name(f"{self.path.name}.tmp")
            temporary.write_text(to_line(first) + lines, encoding="utf-8")
            os.replace(temporary, self.path)
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115  # as before

    def close(self) -> None:
        with self._errors():
            self._file.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}; what the journal holds is kept") from error


class TeeRecorder:
    """Keeps events in a file, then tells somebody who looks on."""

    def __init__(self, file: FileRecorder, watcher: Recorder):
        self.file, self.watcher = file, watcher

    @property
    def count(self) -> int:
        return self.file.count

    def begin_anew(self, first: Event) -> None:
        """Who looks on is told the new first line as it comes."""
        self.file.begin_anew(first)
        self.watcher.write([first])

    def write(self, events: Iterable[Event]) -> None:
        kept = list(events)
        self.file.write(kept)
        self.watcher.write(kept)


_NAMES = {cls: tuple(field.name for field in fields(cls)) for cls in KINDS.values()}
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def to_line(event: Event) -> str:
    """The event as one line of JSON, its kind first."""
    names = _NAMES[type(event)]
    return _encode({"kind": event.kind, **{name: getattr(event, name) for name in names}}) + "\n"


def from_line(line: str) -> Event:
    """The event of a line. Errors: ValueError for a torn line, an unknown kind or field, another schema."""
    try:
        values = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if isinstance(values, dict):
        values = {name: _frozen(value) if isinstance(value, list) else value for name, value in values.items()}
    if not isinstance(values, dict) or values.get("kind") not in KINDS:
        raise ValueError("no event")
    if values.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(f"record schema {values['schema']}; this version reads {SCHEMA}")
    try:
        event: Event = KINDS[values.pop("kind")](**values)
    except TypeError as error:
        raise ValueError(str(error)) from error
    return event


def _frozen(values: list[Any]) -> tuple[Any, ...]:
    """A list as a tuple, and so those in a list of lists."""
    return tuple([tuple(value) if isinstance(value, list) else value for value in values])


def read_lines(path: Path) -> Iterator[Event]:
    """The events of a record in order; a torn last line (a killed run) ends it. Errors: UserError when there is no record."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise UserError(f"cannot read the record {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield from_line(line.decode())
        except ValueError as error:
            if number == len(lines) and not line.endswith(b"\n"):
                return
            raise UserError(f"{path}, line {number} is no event of this version ({error})") from error
