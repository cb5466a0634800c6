"""Where events go: a file, a list, or nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from llm.errors import UserError
from model.events import Event
from model.lines import to_line


class Recorder(Protocol):
    def write(self, events: Iterable[Event]) -> None:
        """Keep the events, in order."""


class Counting(Recorder, Protocol):
    """One that knows how many events it has kept."""

    @property
    def count(self) -> int: ...


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

    def write(self, events: Iterable[Event]) -> None:
        kept = list(events)
        self.file.write(kept)
        self.watcher.write(kept)
