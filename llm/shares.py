"""The share of a server's limits that this process may use, and what workers tell each other of their servers.

A worker opens its models with a part of each limit (backends.split_limits), one of as many parts as there were workers. When one
ends, the others get its share: `growth` says how many parts a process may use now. When a server refuses the calls of one worker
because they are too many, all send fewer, as one process would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_parts = 1


class Board(Protocol):
    """What workers tell each other: how many are at work, and when a server refused a call because there were too many."""

    def workers(self) -> int: ...

    def note_refusal(self, address: str, sent: float) -> None:
        """Say when the refused call was sent, in seconds as of time.time()."""

    def last_refusal(self, address: str) -> float:
        """Return when the latest refused call of all workers was sent; 0 for none."""
        ...


class LoneWorker:
    """The board of a process that shares its servers with no other."""

    def workers(self) -> int:
        return 1

    def note_refusal(self, address: str, sent: float) -> None:
        pass

    def last_refusal(self, address: str) -> float:
        return 0.0


_board: Board = LoneWorker()


def use_board(board: Board) -> None:
    """Share the servers of this process with the workers that read and write `board`."""
    global _board
    _board = board


def board() -> Board:
    """Return the board of this process."""
    return _board


@contextmanager
def divided_among(parts: int) -> Iterator[None]:
    """Within this context, the limits of this process's models are divided into `parts`."""
    global _parts
    before, _parts = _parts, parts
    try:
        yield
    finally:
        _parts = before


def growth() -> float:
    """Return how many parts of the limits this process may use: with 3 of 4 workers at work, 4 / 3."""
    return max(1.0, _parts / max(1, _board.workers()))
