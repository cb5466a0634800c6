"""The requests that a model has been sent and has not answered yet, for a page that says what a run is waiting for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count

from parley.llm.request import Backend, Reply, Request, Wrapper


class Pending(Wrapper):
    """A backend that knows what it has not answered yet. Other threads may ask for it."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self._open: dict[int, tuple[Request, float]] = {}
        self._numbers = count(1)

    def waiting(self) -> list[tuple[int, Request, float]]:
        """Return a number, the request and its seconds so far, for each request without a reply."""
        now = time.monotonic()
        return [(number, request, now - since) for number, (request, since) in list(self._open.items())]

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self._add(requests)
        try:
            return self.inner.complete(requests)
        finally:
            self._open.clear()

    def send(self, requests: Sequence[Request]) -> None:
        self._add(requests)
        super().send(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        landed = super().receive(wait)
        done = {id(request) for request, _ in landed}
        for number in [number for number, (request, _) in self._open.items() if id(request) in done]:
            del self._open[number]
        return landed

    def _add(self, requests: Sequence[Request]) -> None:
        now = time.monotonic()
        self._open |= {next(self._numbers): (request, now) for request in requests}
