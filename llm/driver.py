"""Runs any number of conversations written as generators.

A conversation yields a tuple of requests (asked together) and is sent back the tuple of their replies:

    def two_questions(first, second):
        reply = yield from ask(first)
        both = yield from ask_all([second, second])
        return reply, both

A batch backend gets whatever all live conversations are waiting for as one list. A network backend (in_flight > 0) has N
requests on their way, and each conversation goes on the moment its own replies are there, so a slow room never holds a fast
one. Results do not depend on the order of completion: every request carries its own named seed.

Requests on their way to a network backend: at most `in_flight` at once, each with a tag that comes back with its reply.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Generic, TypeVar, cast

from parley.llm.request import Backend, Network, Reply, Request, check_replies

Result = TypeVar("Result")
Conversation = Generator[tuple[Request, ...], tuple[Reply, ...], Result]
Progress = Callable[[int], object]
Bar = Callable[[str, int], AbstractContextManager[Progress]]
"""Opens a progress bar with a title and a total (0: not known), and hands out what moves it on."""
GRACE = 3.0
"""Seconds for which a drive that ends before its time takes in what is on its way."""
MAX_BATCH = 512
"""Requests per `complete`; a batch is also the unit of the journal's commit, so a killed run loses at most this many."""


def ask(request: Request) -> Generator[tuple[Request, ...], tuple[Reply, ...], Reply]:
    """Ask one question: `reply = yield from ask(request)`."""
    replies = yield (request,)
    return replies[0]


def ask_all(requests: Iterable[Request]) -> Generator[tuple[Request, ...], tuple[Reply, ...], tuple[Reply, ...]]:
    """Ask several questions at once: `replies = yield from ask_all(requests)`; no questions, no replies."""
    asked = tuple(requests)
    return (yield asked) if asked else ()


def drive(
    conversations: Sequence[Conversation[Result]], backend: Backend, progress: Progress | None = None
) -> list[Result]:
    """Run all conversations to their end; their return values in the order given.

    An exception of the backend or of a conversation, or an interrupt, ends the drive and is passed on; all conversations are
    closed. What a network has on its way then is taken in first, for GRACE seconds at most, so that a journal keeps what was
    paid for; a second interrupt ends that at once.
    """
    runner = _Concurrent(backend, progress) if backend.in_flight else _Batched(backend, progress)
    try:
        return runner.run(list(conversations))
    finally:
        for conversation in conversations:
            conversation.close()


class _Batched:
    def __init__(self, backend: Backend, progress: Progress | None):
        self.backend, self.progress = backend, progress

    def run(self, conversations: list[Conversation[Any]]) -> list[Any]:
        results: list[Any] = [None] * len(conversations)
        inbox: list[tuple[int, tuple[Reply, ...] | None]] = [(index, None) for index in range(len(conversations))]
        while inbox:
            waiting = _advance(conversations, inbox, results)
            replies = iter(self._complete([request for _, asked in waiting for request in asked]))
            inbox = [(index, tuple([next(replies) for _ in asked])) for index, asked in waiting]
        return results

    def _complete(self, requests: list[Request]) -> list[Reply]:
        replies: list[Reply] = []
        for start in range(0, len(requests), MAX_BATCH):
            batch = requests[start : start + MAX_BATCH]
            replies += check_replies(self.backend.complete(batch), len(batch))
            if self.progress:
                self.progress(len(batch))
        return replies


class _Concurrent:
    def __init__(self, backend: Backend, progress: Progress | None):
        self.flight: InFlight[tuple[int, int]] = InFlight(cast(Network, backend))
        self.progress = progress
        self.landed: dict[int, dict[int, Reply]] = {}
        self.asked: dict[int, int] = {}

    def run(self, conversations: list[Conversation[Any]]) -> list[Any]:
        results: list[Any] = [None] * len(conversations)
        try:
            self._enqueue(_advance(conversations, [(index, None) for index in range(len(conversations))], results))
            while self.flight:
                self._enqueue(_advance(conversations, self._land(), results))
        except BaseException:
            with suppress(Exception):  # the first error is the one to tell
                self.flight.take_in(GRACE)
            raise
        return results

    def _enqueue(self, waiting: list[tuple[int, tuple[Request, ...]]]) -> None:
        for index, asked in waiting:
            self.landed[index], self.asked[index] = {}, len(asked)
            for place, request in enumerate(asked):
                self.flight.add((index, place), request)

    def _land(self) -> list[tuple[int, tuple[Reply, ...] | None]]:
        ready: list[tuple[int, tuple[Reply, ...] | None]] = []
        landed = self.flight.land()
        for (index, place), reply in landed:
            replies = self.landed[index]
            replies[place] = reply
            if len(replies) == self.asked[index]:
                ready.append((index, tuple([replies[place] for place in range(len(replies))])))
        if self.progress:
            self.progress(len(landed))
        return ready


def _advance(
    conversations: list[Conversation[Any]], inbox: list[tuple[int, tuple[Reply, ...] | None]], results: list[Any]
) -> list[tuple[int, tuple[Request, ...]]]:
    """Hand each conversation its replies; what each asks next. A finished one leaves its result and drops out."""
    waiting = []
    for index, replies in inbox:
        try:
            asked = conversations[index].send(replies)  # type: ignore[arg-type]  # None starts a generator
            while not asked:
                asked = conversations[index].send(())
            waiting.append((index, asked))
        except StopIteration as stop:
            results[index] = stop.value
    return waiting


Tag = TypeVar("Tag")
LOOK = 0.01
"""Seconds between two looks at what is still on its way when nobody waits for it any more."""


class InFlight(Generic[Tag]):
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


def complete_all(backend: Network, requests: Sequence[Request]) -> list[Reply]:
    """`complete` for a network backend: one reply per request, in their order."""
    flight: InFlight[int] = InFlight(backend)
    for place, request in enumerate(requests):
        flight.add(place, request)
    replies: dict[int, Reply] = {}
    while flight:
        replies.update(flight.land())
    return [replies[place] for place in range(len(requests))]
