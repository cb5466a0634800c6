"""The backend: requests go out through an event loop of its own and land in a queue; what fails in passing is asked again."""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from parley.llm.backends.openai import payload
from parley.llm.backends.openai.payload import BUSY, STOP, parse_response, retry_after
from parley.llm.backends.openai.transport import NO_ROOM, Clock, Connection, Endpoint, NoAnswer
from parley.llm.budget import REPEATED
from parley.llm.driver import complete_all
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Usage

Result = TypeVar("Result")
GATHER = 1e-5
"""Seconds for each request on its way (100 at most) for which more may land after the first: what is taken together is one
transaction of the journal.
"""
MOST = 50
"""Calls after which a request is given up that a server keeps refusing while it takes others."""
PAUSE = 0.5
"""Seconds before a request that failed by itself is asked again; twice as long before each further time."""


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="openai", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do it there, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self, lines: Sequence[Connection]) -> None:
        """Close the lines, then the loop. May be called from anywhere, the loop's own thread included."""

        async def close() -> None:
            for line in lines:
                await line.close()
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(close(), self.loop)
        if threading.current_thread() is not self._thread:
            self._thread.join(5)

    def _work(self) -> None:
        self.loop.run_forever()
        self.loop.close()


@dataclass(frozen=True)
class Policy:
    """`in_flight` requests on their way. One that fails by itself is asked `attempts` times; a busy or missing server for
    `patience` seconds.
    """

    in_flight: int
    attempts: int
    patience: float


class Openai:
    """A model behind one or more endpoints.

    Errors: UserError from `receive` when no call can go well any more (a key that is not accepted, no such model, no credit);
    what was on its way has landed by then.
    """

    def __init__(
        self,
        model: str,
        endpoints: Sequence[Endpoint],
        can: payload.EndpointAbilities,
        policy: Policy,
        loop: Loop,
        clock: Clock,
        served: str = "",
        once: bool = False,
        took: int = 0,
    ):
        self.model, self.endpoints, self.can, self.policy, self.clock = model, list(endpoints), can, policy, clock
        self.served, self.once, self.took = served, once, took
        self._loop = loop
        self._landed: queue.SimpleQueue[tuple[Request, Reply | BaseException]] = queue.SimpleQueue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._out = 0
        self._error: BaseException | None = None
        weakref.finalize(self, loop.close, [endpoint.line for endpoint in endpoints])

    @property
    def identity(self) -> Mapping[str, Any]:
        model, served = (
            name.rsplit("/", 1)[-1] if name.startswith("/") else name for name in (self.model, self.served)
        )
        return {"backend": "openai", "model": model, "served": served, "can": self.can.told()}

    @property
    def says(self) -> str:
        """What the probe found, in words: `gpt-4o-mini (chat): closed questions by the 20 likeliest tokens`."""
        ways = {
            payload.LOGPROBS: f"closed questions by the {self.can.top} likeliest tokens",
            payload.CHOICE: "closed questions by a schema",
            payload.TEXT: "closed questions in free text",
        }
        fields = [ways[self.can.closed], *([] if self.can.seed else ["no seed"])]
        fields += [] if self.can.sampling else ["no temperature"]
        fields += [] if self.can.system else ["no system role, so personas begin the first message of the user"]
        took = f"took {self.took} for one word, " if self.took else ""
        fields += (
            [f"thinks first ({took}up to {self.can.thinking} tokens allowed; no plan counts them)"]
            if self.can.thinking
            else []
        )
        return f"{self.served or self.model} ({self.can.api}): {', '.join(fields)}"

    @property
    def in_flight(self) -> int:
        return self.policy.in_flight

    def seedless(self, request: Request) -> bool:
        """Servers do not answer alike each time, even at temperature 0; the user may take it that they do."""
        return self.once and self.can.sampling and request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def send(self, requests: Sequence[Request]) -> None:
        self._out += len(requests)
        self._loop.loop.call_soon_threadsafe(self._start, list(requests))

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        while True:
            if self._error and not self._out:
                error, self._error = self._error, None
                raise error
            if not wait and self._landed.empty():
                return []
            if landed := self._arrived():
                return landed

    def _arrived(self) -> list[tuple[Request, Reply]]:
        """Wait for something, and take all there is; an error is kept until the rest is there."""
        arrived = [self._landed.get()]
        time.sleep(GATHER * min(self._out - 1, 100))
        while not self._landed.empty():
            arrived.append(self._landed.get())
        self._out -= len(arrived)
        for _, outcome in arrived:
            if isinstance(outcome, BaseException):
                self._error = self._error or outcome
        return [(request, outcome) for request, outcome in arrived if isinstance(outcome, Reply)]

    def _start(self, requests: list[Request]) -> None:
        for request in requests:
            task = self._loop.loop.create_task(self._bring(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _bring(self, request: Request) -> None:
        outcome: Reply | BaseException
        try:
            outcome = self._error or await self._ask(request)
        except Exception as error:  # noqa: BLE001  carried over to the thread that waits, and raised there
            outcome = error
        if isinstance(outcome, BaseException):
            self._error = self._error or outcome
        self._landed.put((request, outcome))

    async def _ask(self, request: Request) -> Reply:
        body, tokens = (
            payload.encode_body(payload.request_body(self.model, request, self.can)),
            payload.request_size(request),
        )
        began, failed, calls, used = self.clock.now(), 0, 0, Usage()
        while True:
            endpoint = min(self.endpoints, key=lambda one: one.load)
            reply = await self._call(endpoint, request, body, tokens)
            calls, used = calls + 1, Usage(*map(sum, zip(used, reply.usage, strict=True)))
            failure = reply.failure
            if failure is None or not failure.transient:
                break
            failed += failure.name not in BUSY
            pause = self._pause(request, failure.name in BUSY, failed)
            waited = self.clock.now() + pause - max(began, *[one.well_at for one in self.endpoints])
            if failed >= self.policy.attempts or waited > self.policy.patience or calls >= MOST:
                break
            await self.clock.sleep(pause)
        if failure and failure.name in STOP:
            raise UserError(
                f"{self.model}: the endpoint says {failure.detail}; mend that and run the same command again to go on"
            )
        reply.usage = used
        return _final(reply, calls)

    def _pause(self, request: Request, busy: bool, failed: int) -> float:
        """Seconds before a request is asked again: until some address may be, or longer with each failure of its own."""
        if busy:
            return min(endpoint.rests for endpoint in self.endpoints)
        return PAUSE * 2.0 ** (failed - 1) * random.Random(request.seed + failed).uniform(0.75, 1.25)

    async def _call(self, endpoint: Endpoint, request: Request, body: bytes, tokens: int) -> Reply:
        try:
            answer, sent = await endpoint.post(payload.PATHS[self.can.api], body, tokens, self.policy.patience)
        except NoAnswer as error:
            return Reply.failed("busy" if error.name == NO_ROOM else error.name, str(error), transient=True)
        reply = parse_response(answer, request, self.can)
        if reply.failure and reply.failure.name in BUSY:
            endpoint.too_much(sent, retry_after(answer))
        elif reply.failure and reply.failure.transient:
            endpoint.failed()
        else:
            endpoint.went_well()
        return reply


def _final(reply: Reply, calls: int) -> Reply:
    """The outcome that stands, with the number of calls beside the one that counts."""
    if reply.failure:
        reply.failure = reply.failure._replace(transient=False)
    if calls > 1:
        reply.notes = {**reply.notes, REPEATED: calls - 1}
    return reply
