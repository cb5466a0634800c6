"""Several models in one run: each request goes to the model that its `voice` names, the others to the first model."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from parley.llm.backends import open_spec, split_spec
from parley.llm.driver import MAX_BATCH, complete_all
from parley.llm.request import Backend, Network, Reply, Request

POLL = 0.001
"""Seconds between two looks at networks that all have requests in flight."""


def open_all(spec: str, voices: Mapping[str, str], later: Collection[str] = ()) -> Backend:
    """Open the model of `spec`, and one for each voice. A recording answers for all of them. Errors: UserError.

    later: voices that joined in a branch of a run. They are no part of the identity, so that the journal of the run answers
    what was asked before.
    """
    if not voices or split_spec(spec)[0] == "replay":
        return open_spec(spec)
    opened = {each: open_spec(each) for each in dict.fromkeys([spec, *voices.values()])}
    return RoutedBackend(opened[spec], {voice: opened[each] for voice, each in voices.items()}, later)


class RoutedBackend:
    """Several backends as one. With a network among them it is a network, and the others answer in batches of what was sent."""

    def __init__(self, first: Backend, voices: Mapping[str, Backend], later: Collection[str] = ()):
        self.first, self.voices, self.later = first, dict(voices), frozenset(later)
        self._backends = list(dict.fromkeys([first, *voices.values()]))
        self._flying = {backend: 0 for backend in self._backends if backend.in_flight}
        self._waiting: dict[Backend, list[Request]] = {
            backend: [] for backend in self._backends if not backend.in_flight
        }
        self._error: Exception | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        voices = {voice: dict(self.voices[voice].identity) for voice in sorted(self.voices.keys() - self.later)}
        if not voices:
            return self.first.identity
        return {"backend": "several", "first": dict(self.first.identity), "voices": voices}

    @property
    def later_identities(self) -> dict[str, dict[str, Any]]:
        """The identities of the voices that joined in a branch."""
        return {voice: dict(self.voices[voice].identity) for voice in sorted(self.later & self.voices.keys())}

    @property
    def says(self) -> str:
        """What the models report about themselves, in words."""
        return "; ".join(says for backend in self._backends if (says := getattr(backend, "says", "")))

    @property
    def in_flight(self) -> int:
        networks = sum(backend.in_flight for backend in self._flying)
        return networks + MAX_BATCH * len(self._waiting) if networks else 0

    @property
    def batch_size(self) -> int:
        """The most requests of one `complete`, where a backend has a number of its own; 0 for the usual one."""
        return max(int(getattr(backend, "batch_size", 0)) for backend in self._backends)

    def keep_beside(self, journal: Path) -> None:
        """Tell the backends that remember what they have sent which journal will keep the replies."""
        for backend in self._backends:
            if keep_beside := getattr(backend, "keep_beside", None):
                keep_beside(journal)

    def settle(self) -> None:
        """Tell such backends that the journal has kept all replies that they have returned."""
        for backend in self._backends:
            if settle := getattr(backend, "settle", None):
                settle()

    def seedless(self, request: Request) -> bool:
        return self._backend(request).seedless(request)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        if self._flying:
            return complete_all(self, requests)
        replies: dict[int, Reply] = {}
        for backend in self._backends:
            places = [place for place, request in enumerate(requests) if self._backend(request) is backend]
            if places:
                replies |= zip(places, backend.complete([requests[place] for place in places]), strict=True)
        return [replies[place] for place in range(len(requests))]

    def send(self, requests: Sequence[Request]) -> None:
        for backend in self._backends:
            backend_requests = [request for request in requests if self._backend(request) is backend]
            if backend_requests and backend in self._waiting:
                self._waiting[backend] += backend_requests
            elif backend_requests:
                self._flying[backend] += len(backend_requests)
                cast(Network, backend).send(backend_requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """Return the replies of the networks; else a batch of a model without a network; else what comes first."""
        while True:
            if self._error and not any(self._flying.values()):
                error, self._error = self._error, None
                raise error
            flying = [backend for backend, count in self._flying.items() if count]
            alone = wait and len(flying) == 1 and not any(self._waiting.values())
            landed = [pair for backend in flying for pair in self._receive(backend, alone)]
            landed = landed or ([] if self._error else self._batch())
            if landed or not wait:
                return landed
            time.sleep(POLL)

    def _receive(self, backend: Backend, wait: bool) -> list[tuple[Request, Reply]]:
        try:
            landed = cast(Network, backend).receive(wait)
        except Exception as error:  # noqa: BLE001  raised when the requests of the other networks have landed
            self._error, self._flying[backend] = self._error or error, 0
            return []
        self._flying[backend] -= len(landed)
        return landed

    def _batch(self) -> list[tuple[Request, Reply]]:
        for backend, waiting in self._waiting.items():
            if waiting:
                batch, self._waiting[backend] = waiting[:MAX_BATCH], waiting[MAX_BATCH:]
                try:
                    return list(zip(batch, backend.complete(batch), strict=True))
                except Exception as error:  # noqa: BLE001  raised when the requests of the networks have landed
                    self._error = error
                    return []
        return []

    def _backend(self, request: Request) -> Backend:
        return self.voices.get(request.voice, self.first)
