"""Requests on their way to a network backend: at most `in_flight` at once, each with a tag that comes back with its reply."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from llm.request import Network, Reply, Request

Tag = TypeVar("Tag")


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
        for request, reply in self.backend.receive():
            if request not in self._tags:
                raise RuntimeError("the backend answered a request that was not on its way")
            tags = self._tags[request]
            landed.append((tags.popleft(), reply))
            if not tags:
                del self._tags[request]
        self._flying -= len(landed)
        return landed

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
