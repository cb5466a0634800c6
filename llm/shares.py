"""The share of a server's limits that this process may use. When one of several workers ends, the others get its share.

A worker opens its models with a part of each limit (backends.split_limits), one of as many parts as there were workers. `growth`
says how many such parts it may use now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OFTEN = 1.0
"""Seconds between two questions to another machine."""
_parts = 1


def _count_workers() -> int:
    return 1


def use_workers(count: Callable[[], int]) -> None:
    """Let `count` say how many workers are at work; it is called for each batch of requests."""
    global _count_workers
    _count_workers = count


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
    return max(1.0, _parts / max(1, _count_workers()))


def now_and_then(ask: Callable[[], int]) -> Callable[[], int]:
    """Return a function that knows what `ask` says, and asks at most once a second."""
    answer, asked = ask(), time.monotonic()

    def latest() -> int:
        nonlocal answer, asked
        if time.monotonic() > asked + OFTEN:
            answer, asked = ask(), time.monotonic()
        return answer

    return latest
