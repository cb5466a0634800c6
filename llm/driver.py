"""Runs any number of conversations written as generators.

A conversation yields a tuple of requests (sent together) and gets back the tuple of their replies:

    def two_questions(first, second):
        reply = yield from ask(first)
        both = yield from ask_all([second, second])
        return reply, both

A batch backend gets the next requests of all conversations as one list. A network backend (in_flight > 0) has N requests in
flight, and each conversation continues as soon as its own replies have landed, so a slow room never delays a fast one. Results do
not depend on the order in which replies land, because every request carries its own named seed.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar, cast

from parley.llm.request import Backend, Network, Reply, Request, check_replies
from parley.llm.thinking import split_thinking

Result = TypeVar("Result")
Conversation = Generator[tuple[Request, ...], tuple[Reply, ...], Result]
Progress = Callable[[int], object]
Bar = Callable[..., AbstractContextManager[Progress]]
"""Opens a progress bar with a title and a total (0: unknown), and returns the function that moves it on."""
Asked = list[tuple[int, tuple[Request, ...]]]
Answered = Sequence[tuple[int, tuple[Reply, ...] | None]]
"""By number of the conversation: the requests that it waits for, and their replies (None starts it)."""
GRACE = 3.0
"""Seconds for which a drive that ends early still takes in replies."""
LOOK = 0.01
"""Seconds between two looks at the requests in flight when a drive ends early."""
MAX_BATCH = 512
"""Requests per `complete`, unless a backend has a `batch_size` of its own. A batch is also the unit of the journal's commit, so a
killed run loses at most this many.
"""


AT_ONCE = 8 * MAX_BATCH
"""Requests of a conversation that are composed before the first of them is sent: of 100,000 people who speak at the same time,
only the prompts of so many are in memory. Nobody hears anything before all have spoken.
"""
Item = TypeVar("Item")


def blocks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield items that are asked together, AT_ONCE at a time: nothing where there are none."""
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


def public(reply: Reply) -> Reply:
    """Return a reply without the thoughts in its text: no agent hears them, whatever backend it comes from."""
    text, thoughts = split_thinking(reply.text or "")
    return replace(reply, text=text, thinking=reply.thinking + thoughts) if text != (reply.text or "") else reply


def ask(request: Request) -> Generator[tuple[Request, ...], tuple[Reply, ...], Reply]:
    """Ask one question: `reply = yield from ask(request)`."""
    replies = yield (request,)
    return replies[0]


def ask_all(requests: Iterable[Request]) -> Generator[tuple[Request, ...], tuple[Reply, ...], tuple[Reply, ...]]:
    """Ask several questions at once: `replies = yield from ask_all(requests)`; no questions, no replies."""
    questions = tuple(requests)
    return (yield questions) if questions else ()


def ask_in_step(conversations: Sequence[Conversation[Result]]) -> Conversation[list[Result]]:
    """Run several conversations as one, which asks at once what all of them wait for; return their return values."""
    results: list[Any] = [None] * len(conversations)
    waiting = _advance(conversations, [(index, None) for index in range(len(conversations))], results)
    while waiting:
        replies = iter((yield tuple([request for _, each in waiting for request in each])))
        answered = [(index, tuple(islice(replies, len(each)))) for index, each in waiting]
        waiting = _advance(conversations, answered, results)
    return results


def complete_all(backend: Network, requests: Sequence[Request]) -> list[Reply]:
    """Return one reply per request of a network backend, in their order."""
    return drive([ask(request) for request in requests], backend)


def drive(
    conversations: Sequence[Conversation[Result]], backend: Backend, progress: Progress | None = None
) -> list[Result]:
    """Run all conversations to their end; return their return values in the order given.

    An exception of the backend or of a conversation, or an interrupt, ends the drive and is passed on; all conversations are
    closed. Requests in flight may land first, for GRACE seconds at most, so that a journal keeps what was paid for. A second
    interrupt ends that at once.
    """
    results: list[Any] = [None] * len(conversations)
    run = _run_in_flight if backend.in_flight else _run_in_batches
    try:
        run(conversations, backend, progress or (lambda count: None), results)
    finally:
        for conversation in conversations:
            conversation.close()
    return results


def _run_in_batches(
    conversations: Sequence[Conversation[Any]], backend: Backend, progress: Progress, results: list[Any]
) -> None:
    waiting = _advance(conversations, [(index, None) for index in range(len(conversations))], results)
    size = getattr(backend, "batch_size", 0) or MAX_BATCH
    while waiting:
        requests = [request for _, each in waiting for request in each]
        replies: list[Reply] = []
        for start in range(0, len(requests), size):
            batch = requests[start : start + size]
            replies += map(public, check_replies(backend.complete(batch), len(batch)))
            progress(len(batch))
        rest = iter(replies)
        waiting = _advance(conversations, [(index, tuple(islice(rest, len(each)))) for index, each in waiting], results)


def _run_in_flight(
    conversations: Sequence[Conversation[Any]], backend: Backend, progress: Progress, results: list[Any]
) -> None:
    flight = _Flight(cast(Network, backend))
    answered: Answered = [(index, None) for index in range(len(conversations))]
    try:
        while answered or flight.waits:
            flight.add(_advance(conversations, answered, results))
            answered, landed = flight.land() if flight.waits else ([], 0)
            progress(landed)
    except BaseException:
        with suppress(Exception):  # the user sees the first error
            flight.take_in(GRACE)
        raise


def _advance(conversations: Sequence[Conversation[Any]], answered: Answered, results: list[Any]) -> Asked:
    """Give each conversation its replies; return the next requests of each. A finished one leaves its result."""
    waiting = []
    for index, replies in answered:
        try:
            requests = conversations[index].send(replies)  # type: ignore[arg-type]  # None starts a generator
            while not requests:
                requests = conversations[index].send(())
            waiting.append((index, requests))
        except StopIteration as stop:
            results[index] = stop.value
    return waiting


class _Flight:
    """The requests that wait to be sent, and those that a network backend has not answered yet."""

    def __init__(self, backend: Network):
        self.backend = backend
        self._queue: deque[tuple[Request, int, int]] = deque()
        self._places: dict[Request, deque[tuple[int, int]]] = defaultdict(deque)
        self._replies: dict[int, list[Any]] = {}
        self._flying = 0

    @property
    def waits(self) -> bool:
        return bool(self._queue or self._flying)

    def add(self, waiting: Asked) -> None:
        for index, requests in waiting:
            self._replies[index] = [None] * len(requests)
            self._queue += [(request, index, place) for place, request in enumerate(requests)]

    def land(self) -> tuple[Answered, int]:
        """Send as many requests as allowed, wait, and return the conversations with all replies, and the number of replies.

        Errors: RuntimeError when a reply lands that belongs to no request; the errors of the backend.
        """
        self._send()
        try:
            landed = self.backend.receive()
        except Exception:  # a backend raises an error when nothing is in flight any more
            self._flying = 0
            raise
        self._flying -= len(landed)
        answered = []
        for request, reply in landed:
            if request not in self._places:
                raise RuntimeError("the backend answered a request that it was not sent")
            index, place = self._places[request].popleft()
            if not self._places[request]:
                del self._places[request]
            self._replies[index][place] = public(reply)
            if None not in self._replies[index]:
                answered.append((index, tuple(self._replies.pop(index))))
        return answered, len(landed)

    def take_in(self, seconds: float) -> None:
        """Send nothing more; let the requests in flight land in the backend (a journal keeps them), for so long at most."""
        until = time.monotonic() + seconds
        while self._flying and time.monotonic() < until:
            landed = len(self.backend.receive(wait=False))
            self._flying -= landed
            if not landed:
                time.sleep(LOOK)

    def _send(self) -> None:
        room = min(self.backend.in_flight - self._flying, len(self._queue))
        sent = [self._queue.popleft() for _ in range(room)]
        for request, index, place in sent:
            self._places[request].append((index, place))
        self._flying += room
        if sent:
            self.backend.send([request for request, _, _ in sent])
