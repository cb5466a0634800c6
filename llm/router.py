"""Several models in one run: each request goes to the one that its `voice` names, the rest to the first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from parley.llm.backends import open_spec, split_spec
from parley.llm.driver import complete_all
from parley.llm.request import Backend, Network, Reply, Request

POLL = 0.001
"""Seconds between two looks at networks that all have something on its way."""
BATCH = 512
"""Requests that a model without a network takes at once."""


def open_all(spec: str, voices: Mapping[str, str]) -> Backend:
    """The model of `spec`, and one for each voice. A recording answers for all of them. Errors: UserError."""
    if not voices or split_spec(spec)[0] == "replay":
        return open_spec(spec)
    opened = {each: open_spec(each) for each in dict.fromkeys([spec, *voices.values()])}
    return RoutedBackend(opened[spec], {voice: opened[each] for voice, each in voices.items()})


class RoutedBackend:
    """Backends behind one. With a network among them it is a network, and the others answer in batches of what was sent."""

    def __init__(self, first: Backend, voices: Mapping[str, Backend]):
        self.first, self.voices = first, dict(voices)
        self._backends = list(dict.fromkeys([first, *voices.values()]))
        self._networks = [one for one in self._backends if one.in_flight]
        self._error: Exception | None = None
        self._flying = dict.fromkeys(self._networks, 0)
        self._waiting: dict[Backend, list[Request]] = {one: [] for one in self._backends if not one.in_flight}

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "several",
            "first": dict(self.first.identity),
            "voices": {voice: dict(one.identity) for voice, one in sorted(self.voices.items())},
        }

    @property
    def says(self) -> str:
        """What the models say of themselves, those that do."""
        return "; ".join(says for one in self._backends if (says := getattr(one, "says", "")))

    @property
    def in_flight(self) -> int:
        networks = sum(one.in_flight for one in self._networks)
        return networks + BATCH * len(self._waiting) if networks else 0

    def seedless(self, request: Request) -> bool:
        return self._of(request).seedless(request)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        if self._networks:
            return complete_all(self, requests)
        replies: dict[int, Reply] = {}
        for backend in self._backends:
            mine = [place for place, request in enumerate(requests) if self._of(request) is backend]
            if mine:
                replies |= zip(mine, backend.complete([requests[place] for place in mine]), strict=True)
        return [replies[place] for place in range(len(requests))]

    def send(self, requests: Sequence[Request]) -> None:
        for backend in self._backends:
            mine = [request for request in requests if self._of(request) is backend]
            if mine and backend in self._waiting:
                self._waiting[backend] += mine
            elif mine:
                self._flying[backend] += len(mine)
                cast(Network, backend).send(mine)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """What the networks have; else a batch of a model without one, while theirs are on their way; else what comes first."""
        while True:
            if self._error and not any(self._flying.values()):
                error, self._error = self._error, None
                raise error
            flying = [one for one in self._networks if self._flying[one]]
            alone = wait and len(flying) == 1 and not any(self._waiting.values())
            landed = [pair for one in flying for pair in self._receive(one, alone)]
            landed = landed or ([] if self._error else self._batch())
            if landed or not wait:
                return landed
            time.sleep(POLL)

    def _receive(self, backend: Backend, wait: bool) -> list[tuple[Request, Reply]]:
        try:
            landed = cast(Network, backend).receive(wait)
        except Exception as error:  # noqa: BLE001  raised when what the others have on their way has landed
            self._error, self._flying[backend] = self._error or error, 0
            return []
        self._flying[backend] -= len(landed)
        return landed

    def _batch(self) -> list[tuple[Request, Reply]]:
        for backend, waiting in self._waiting.items():
            if waiting:
                asked, self._waiting[backend] = waiting[:BATCH], waiting[BATCH:]
                return list(zip(asked, backend.complete(asked), strict=True))
        return []

    def _of(self, request: Request) -> Backend:
        return self.voices.get(request.voice, self.first)
