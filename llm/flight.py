"""Requests on their way to a network backend: at most `in_flight` at once, each with a tag that comes back with its reply."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from parley.llm.request import Network, Reply, Request

Tag = TypeVar("Tag")
LOOK = 0.01
"""Seconds between two looks at what is still on its way when nobody waits for it any more."""


class Flight(Generic[Tag]):
    """What waits to be sent, and what is on its way."""

    def __init__(self, backend: Network):
        self.backend = backend
        self._queue: deque[tuple[Tag, Request]] = deque()
        self._tags: dict[Request, deque[Tag]] = defaultdict(deque)
        self._flying = 0

    def __bool__(self) -> bool:
        return bool(self._queue or self._flying)

    def add(self, tag: Tag, request: Request) -> None:
        self._queue.append((tag, request))

    def land(self) -> list[tuple[Tag, Reply]]:
        """Send what there is room for, wait until something has landed, and return all that has.

        Errors: RuntimeError when a reply lands that nobody has asked for; what the backend raises.
        """
        self._send()
        landed = []
        for request, reply in self._receive():
            if request not in self._tags:
                raise RuntimeError("the backend answered a request that was not on its way")
            tags = self._tags[request]
            landed.append((tags.popleft(), reply))
            if not tags:
                del self._tags[request]
        self._flying -= len(landed)
        return landed

    def take_in(self, seconds: float) -> None:
        """Send nothing more, and let what is on its way land in the backend for so long at most: a journal keeps it."""
        until = time.monotonic() + seconds
        while self._flying and time.monotonic() < until:
            landed = len(self.backend.receive(wait=False))
            self._flying -= landed
            if not landed:
                time.sleep(LOOK)

    def _receive(self) -> list[tuple[Request, Reply]]:
        """An error of the backend comes when nothing is on its way any more."""
        try:
            return self.backend.receive()
        except Exception:
            self._flying = 0
            raise

    def _send(self) -> None:
        room = min(self.backend.in_flight - self._flying, len(self._queue))
        sent = [self._queue.popleft() for _ in range(room)]
        for tag, request in sent:
            self._tags[request].append(tag)
        self._flying += room
        if sent:
            self.backend.send([request for _, request in sent])


def all_of(backend: Network, requests: Sequence[Request]) -> list[Reply]:
    """`complete` for a network backend: one reply per request, in their order."""
    flight: Flight[int] = Flight(backend)
    for place, request in enumerate(requests):
        flight.add(place, request)
    replies: dict[int, Reply] = {}
    while flight:
        replies.update(flight.land())
    return [replies[place] for place in range(len(requests))]
