"""Remembers, in a file beside a journal, which batches of requests were sent and are not in the journal yet.

A killed run finds its batches there, waits for them, and pays for nothing twice. The file has one JSON value a line: that a batch
is about to be sent (`sending`, a mark that the provider keeps with it), that it was sent (`batch`, its id, with the names of its
`lines`), and that its replies are in the journal (`done`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.seeding import digest

SUFFIX = ".batches.jsonl"
ID = re.compile(r"[A-Za-z0-9_.:-]{1,200}")


@dataclass
class SentBatch:
    """A batch at the provider. `answers` are its lines as they came back (None: not yet); `taken` those that were used."""

    id: str
    lines: frozenset[str]
    status: str = ""
    answers: dict[str, Any] | None = None
    taken: set[str] = field(default_factory=set)


class SentBatches:
    """The batches that are not done, the oldest first. Without a path they are forgotten with the process."""

    def __init__(self, path: Path | None = None):
        self.path = path
        self.open: list[SentBatch] = []
        self.unsure: dict[str, frozenset[str]] = {}
        self._sends = 0
        if path and path.exists():
            self._read(path)

    def begin(self, lines: Sequence[str]) -> str:
        """Note that a batch of these lines is about to be sent; return the mark to send with it."""
        self._sends += 1
        mark = digest(self._sends, *lines).hex()
        self.unsure[mark] = frozenset(lines)
        self._write({"sending": mark, "lines": list(lines)})
        return mark

    def add(self, mark: str, batch_id: str) -> SentBatch:
        """Note the id of the batch with this mark. Errors: UserError for what is no id."""
        batch = SentBatch(checked_id(batch_id), self.unsure.pop(mark))
        self.open.append(batch)
        self._write({"batch": batch.id, "sending": mark})
        return batch

    def drop(self, mark: str) -> None:
        """Note that the provider has no batch with this mark."""
        del self.unsure[mark]
        self._write({"done": mark})

    def finish(self, batches: Iterable[SentBatch]) -> None:
        """Note that the replies of these batches are kept, or that they will have none."""
        for batch in list(batches):
            self.open.remove(batch)
            self._write({"done": batch.id})

    def find(self, line: str) -> SentBatch | None:
        """Return the oldest batch with a line that has not been used; None for a line that is in none."""
        return next((batch for batch in self.open if line in batch.lines and line not in batch.taken), None)

    def _write(self, entry: dict[str, Any]) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def _read(self, path: Path) -> None:
        """Read the file. The last line of a killed run may be half written. Errors: UserError for another file."""
        known: dict[str, SentBatch] = {}
        *whole, _ = path.read_text(encoding="utf-8").split("\n")
        try:
            for entry in map(json.loads, whole):
                if "done" in entry:
                    known.pop(entry["done"], None)
                    self.unsure.pop(entry["done"], None)
                elif "batch" in entry:
                    known[entry["batch"]] = SentBatch(checked_id(entry["batch"]), self.unsure.pop(entry["sending"]))
                else:
                    self._sends += 1
                    self.unsure[str(entry["sending"])] = frozenset(map(str, entry["lines"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"cannot read {path}, which lists the batches of this folder: {error}") from error
        self.open = list(known.values())


def checked_id(text: Any) -> str:
    """Return the id of a batch or a file. Errors: UserError for what cannot be one: it becomes part of an address."""
    if not isinstance(text, str) or not ID.fullmatch(text) or ".." in text:
        raise UserError("the id of a batch may have only letters, digits and the signs _ . : -")
    return text
