"""Runs any number of conversations written as generators.

A conversation yields a tuple of requests (asked together) and is sent back the tuple of their replies:

    def two_questions(first, second):
        reply = yield from ask(first)
        both = yield from ask_all([second, second])
        return reply, both

A batch backend gets whatever all live conversations are waiting for as one list. A network backend (in_flight > 0) has N
requests on their way, and each conversation goes on the moment its own replies are there, so a slow room never holds a fast
one. Results do not depend on the order of completion: every request carries its own named seed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar, cast

from parley.llm.flight import Flight
from parley.llm.request import Backend, Network, Reply, Request, checked

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
            replies += checked(self.backend.complete(batch), len(batch))
            if self.progress:
                self.progress(len(batch))
        return replies


class _Concurrent:
    def __init__(self, backend: Backend, progress: Progress | None):
        self.flight: Flight[tuple[int, int]] = Flight(cast(Network, backend))
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
