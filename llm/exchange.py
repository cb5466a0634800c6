"""What workers of one run tell each other.

`Share`: workers run the same conversations. Each asks its share of the questions, and gets the other replies from others. Every
worker sees the same requests, because a reply is the same in all of them. Who asks a question depends on its key alone.

`Meeting`: each worker has a part of the agents of a network. Workers tell each other what these say and how they rate.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

from parley.llm.errors import BudgetSpent
from parley.llm.request import Backend, Network, Reply, Request, Wrapper, identity_text

Posted = list[tuple[bytes, str]]
"""Replies as JSON, by the key of their question; of a meeting, its number and what a worker tells there."""
STOPPED = b"stopped"
"""The key under which a worker posts why it ended early, so that no other worker waits for it."""
POLL = 0.0005
"""Seconds between two looks, while replies of the model and of other workers are awaited."""


class Desk(Protocol):
    """Where a worker posts the replies to its questions, and takes those that the others have posted."""

    def post(self, replies: Posted) -> None:
        """Hand replies to all other workers."""

    def take(self, wait: bool) -> Posted:
        """Return what has come from others since the last time. wait: wait for something."""


def _check_going_on(posted: Posted) -> None:
    """Errors: BudgetSpent where another worker ended early."""
    for key, why in posted:
        if key == STOPPED:
            raise BudgetSpent(why)


class Share(Wrapper):
    """The backend of worker `number` of `of`. It sends the model the questions of this worker, and the desk its replies.

    Errors: BudgetSpent where another worker ended early; own requests in flight land first, because they are paid for.
    """

    def __init__(self, inner: Backend, number: int, of: int, desk: Desk):
        super().__init__(inner)
        self.number, self.of, self.desk = number, of, desk
        self._identity = identity_text(inner)
        self._early: dict[bytes, Reply] = {}
        self._wanted: defaultdict[bytes, list[Request]] = defaultdict(list)
        self._landed: list[tuple[Request, Reply]] = []
        self._held: deque[Request] = deque()
        self._flying = 0

    @property
    def in_flight(self) -> int:
        """As many as all workers together have in flight: a worker waits for the questions of the others as well."""
        return self.inner.in_flight * self.of

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        own = [request for request in requests if self._is_own(request)]
        replies = dict(zip(map(id, own), self.inner.complete(own), strict=True)) if own else {}
        self._post([(request, replies[id(request)]) for request in own])
        others = {self._key(request) for request in requests if id(request) not in replies}
        while not others <= self._early.keys():
            self._take(wait=True)
        answered = [replies[id(one)] if id(one) in replies else self._early[self._key(one)] for one in requests]
        for request in requests:
            self._forget(request)
        return answered

    def send(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if self._is_own(request):
                self._held.append(request)
            elif (key := self._key(request)) in self._early:
                self._landed.append((request, self._early[key]))
                self._forget(request)
            else:
                self._wanted[key].append(request)
        self._send_held()

    def _send_held(self) -> None:
        """Send own questions, as many as the model of this worker takes at a time."""
        free = min(self.inner.in_flight - self._flying, len(self._held))
        if free > 0:
            self._flying += free
            super().send([self._held.popleft() for _ in range(free)])

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        while True:
            landed, self._landed = self._landed, []
            if self._flying:
                landed += self._receive_own(wait and not (landed or self._wanted))
            if self._wanted:
                self._take(wait and not (landed or self._flying))
                landed += self._landed
                self._landed = []
            if landed or not wait:
                return landed
            time.sleep(POLL)

    def _receive_own(self, wait: bool) -> list[tuple[Request, Reply]]:
        try:
            own = cast(Network, self.inner).receive(wait)
        except Exception:  # raised when nothing is in flight any more
            self._flying = 0
            raise
        self._flying -= len(own)
        self._send_held()
        self._post(own)
        return own

    def _post(self, answered: Sequence[tuple[Request, Reply]]) -> None:
        if answered:
            self.desk.post([(self._key(request), reply.to_json()) for request, reply in answered])

    def _take(self, wait: bool) -> None:
        posted = self.desk.take(wait)
        try:
            _check_going_on(posted)
        except BudgetSpent:
            self._held.clear()
            while self._flying:
                self._receive_own(wait=True)
            raise
        for key, text in posted:
            reply = self._early[key] = Reply.from_json(text)
            if waiting := self._wanted.pop(key, []):
                self._landed += [(request, reply) for request in waiting]
                self._forget(waiting[0])

    def _forget(self, request: Request) -> None:
        """Forget a reply that was used, unless the same question without a seed may come again."""
        if not self.inner.seedless(request):
            self._early.pop(self._key(request), None)

    def _key(self, request: Request) -> bytes:
        return request.key(self._identity, self.inner.seedless(request))

    def _is_own(self, request: Request) -> bool:
        return int.from_bytes(self._key(request)[:4]) % self.of == self.number


class Meeting:
    """Where worker `number` of `of`, which has every `of`-th agent of a network, meets the others. All hold the same meetings."""

    def __init__(self, number: int, of: int, desk: Desk):
        self.number, self.of, self.desk, self.held = number, of, desk, 0
        self._told: defaultdict[int, dict[int, list[Any]]] = defaultdict(dict)

    def owns(self, agent: int) -> bool:
        """Return whether this worker has an agent."""
        return agent % self.of == self.number

    def tell_all(self, values: list[Any]) -> list[Any]:
        """Tell the other workers values of JSON, and wait for theirs; return those of all.

        Errors: BudgetSpent where another worker ended early.
        """
        self.held += 1
        self.desk.post([(f"{self.held} {self.number}".encode(), json.dumps(values))])
        while len(self._told[self.held]) < self.of - 1:
            posted = self.desk.take(wait=True)
            _check_going_on(posted)
            for place, text in posted:
                meeting, teller = map(int, place.split())
                if (
                    meeting >= self.held and teller != self.number
                ):  # a worker that was started again tells all of it again
                    self._told[meeting][teller] = json.loads(text)
        return [*values, *[value for told in self._told.pop(self.held).values() for value in told]]
