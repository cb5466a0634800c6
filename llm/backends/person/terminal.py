"""A seat at the command line: prints each question and reads a line. A file of answers can replace the person."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

from parley.llm.backends.person.desk import GONE, HERE, Desk, Question
from parley.llm.errors import UserError

LEAVE = "/leave"
MANUAL = (
    f"Type your answer in one line and press Enter. Type {LEAVE} to leave the seat; any line brings you back. "
    "What you type is recorded with the run."
)


class Terminal:
    """Reads lines of the keyboard, or of a file. `write` prints; a file of answers prints nothing. The end of input leaves."""

    def __init__(self, desk: Desk, file: Path | None = None, write: Callable[[str], object] | None = None):
        self.desk = desk
        self._file = os.open(file, os.O_RDONLY) if file else None
        self._write = write or ((lambda text: None) if file else _print)
        self._rest, self._ended = b"", False
        self._shown: int | None = None
        self._seat = ""
        self._greeted = False

    def look(self, seconds: float) -> None:
        """Show the oldest question, and take the next line for it."""
        question = next(iter(self.desk.waiting()), None)
        if question and question.number != self._shown:
            self._show(question)
        if (line := self._line(seconds)) is not None:
            self._take(question, line)
        elif self._ended and question:
            self.desk.leave(question.seat)

    def _take(self, question: Question | None, line: str) -> None:
        if self._seat and self.desk.state(self._seat) in GONE:
            self.desk.come_back(self._seat)
            self._write("\nYou are back. The next question comes to you.\n")
        elif question and line.strip() == LEAVE:
            self.desk.leave(question.seat)
            self._write("\nYou have left the seat. Type any line to take it again.\n")
        elif question:
            hint = self.desk.answer(question.seat, question.number, line)
            self._write(f"{hint}\n> " if hint else "")

    def _show(self, question: Question) -> None:
        if not self._greeted:
            self._write(f"\nYou sit in the seat {question.seat}. {MANUAL}\n")
        self._greeted, self._seat, self._shown = True, question.seat, question.number
        options = "\n".join(f"  {number}. {answer}" for number, answer in enumerate(question.answers, 1))
        listed = f"\n{options}" if question.answers and not question.answers[0].isdecimal() else ""
        self._write(f"\n{question.text}{listed}\n> ")

    def _line(self, seconds: float) -> str | None:
        """Return the next line, or None if none came in so many seconds. Lines of a file wait for a question."""
        is_here = self.desk.state(self._seat) == HERE if self._seat else True
        if b"\n" not in self._rest and not self._ended:
            self._fill(0 if self._file is not None else seconds)
        if self._ended and self._rest and b"\n" not in self._rest:
            self._rest += b"\n"
        if b"\n" not in self._rest or (is_here and not self.desk.waiting()):
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _fill(self, seconds: float) -> None:
        source = _keyboard() if self._file is None else self._file
        if select.select([source], [], [], max(0.0, seconds))[0]:
            chunk = os.read(source, 4096)
            self._rest += chunk
            self._ended = not chunk


def _keyboard() -> int:
    """Return the file descriptor of the standard input. Errors: UserError where it has none, as in a notebook."""
    try:
        return sys.stdin.fileno()
    except OSError as error:
        raise UserError(
            "at=terminal needs a terminal: start python run.py in a terminal, or write at=page or at=FILE"
        ) from error


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
