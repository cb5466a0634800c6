"""Where events go: a file, a list, or nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from parley.llm.errors import UserError
from parley.model.events import Event
from parley.model.lines import to_line


class Recorder(Protocol):
    def write(self, events: Iterable[Event]) -> None:
        """Keep the events, in order."""


class Counting(Recorder, Protocol):
    """One that knows how many events it has kept, and can say anew what they are of."""

    @property
    def count(self) -> int: ...

    def begin_anew(self, first: Event) -> None: ...


class Nowhere:
    """Keeps nothing: for sweeps that read the DataCollector and for benchmarks."""

    def write(self, events: Iterable[Event]) -> None:
        return None


class InMemory:
    """Keeps a list: for tests and for the page."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Iterable[Event]) -> None:
        self.events += events


class ToFile:
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


class Both:
    """Keeps events in a file, then tells somebody who looks on."""

    def __init__(self, file: ToFile, watcher: Recorder):
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
