"""The backend: an event loop of its own sends requests, and replies land in a queue. Transient failures are repeated."""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from parley.llm import shares
from parley.llm.answer_tree import answer_lookups
from parley.llm.backends.openai import answers as event_stream
from parley.llm.backends.openai import pauses, payload
from parley.llm.backends.openai.addresses import Addresses, Load, conversation_of, most_flying
from parley.llm.backends.openai.payload import BUSY, STOP, Capabilities
from parley.llm.backends.openai.transport import MALFORMED, NO_ROOM, Clock, Connection, Endpoint, HttpAnswer, NoAnswer
from parley.llm.budget import REPEATED
from parley.llm.driver import complete_all
from parley.llm.errors import UserError
from parley.llm.notices import notify
from parley.llm.request import (
    Reply,
    Request,
    Usage,
    add_counts,
    beginning_of,
    served_by,
    set_choice,
    tokens_noted,
    total,
)
from parley.llm.secrets import hide_in

Result = TypeVar("Result")
Read = Callable[[HttpAnswer], Reply]
GATHER = 1e-5
"""Seconds for each request in flight (100 at most) to wait for further replies after the first one: replies that are taken
together are one transaction of the journal.
"""
MOST_CALLS = 50
"""Calls after which a request is given up that a server keeps refusing while it takes others."""
PAUSE = 0.5
"""Seconds before a failed request is repeated; twice as long before each further time."""


class EndpointSettings(NamedTuple):
    """What to open and how to call it; the fields are the options of `openai` (__init__.py). `urls` share the load.

    A request that fails is called `attempts` times; a busy or missing server for `patience` seconds.
    """

    model: str
    urls: Sequence[str]
    secret: str
    api: str
    closed: str
    thinking: int
    in_flight: int
    rpm: float
    tpm: float
    timeout: float
    attempts: int
    patience: float
    client: str = "fast"
    once: bool = False


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="openai", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine there, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self, connections: Sequence[Connection]) -> None:
        """Close the connections, then the loop. Any thread may call this, the loop's own included."""

        async def close() -> None:
            calls = asyncio.all_tasks(self.loop) - {asyncio.current_task(self.loop)}
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)  # or Python complains about each of them at its end
            for connection in connections:
                await connection.close()
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(close(), self.loop)
        if threading.current_thread() is not self._thread:
            self._thread.join(5)

    def _work(self) -> None:
        self.loop.run_forever()
        self.loop.close()


class Openai:
    """A model behind one or more endpoints.

    Errors: UserError from `receive` when no further call can succeed (the key is not accepted, there is no such model, or no
    credit). All requests in flight have landed by then.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        endpoints: Sequence[Endpoint],
        capabilities: Capabilities,
        loop: Loop,
        clock: Clock,
    ):
        self.settings, self.endpoints, self.clock = settings, list(endpoints), clock
        self.can, self.served, self.probe_tokens = capabilities
        self._loop, self._addresses = loop, Addresses([endpoint.connection.url for endpoint in endpoints])
        self._landed: queue.SimpleQueue[tuple[Request, Reply | BaseException]] = queue.SimpleQueue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flying, self._growth = 0, 1.0
        self._error: BaseException | None = None
        self._mixed, self._streams = False, self.can.api != payload.EMBEDDINGS
        self.close = weakref.finalize(self, loop.close, [endpoint.connection for endpoint in endpoints])

    @property
    def identity(self) -> Mapping[str, Any]:
        names = (self.settings.model, self.served)
        model, served = (name.rsplit("/", 1)[-1] if name.startswith("/") else name for name in names)
        return {"backend": "openai", "model": model, "served": served, "can": self.can.to_identity()}

    @property
    def says(self) -> str:
        """What the probe found, in words: `gpt-4o-mini (chat): closed questions by the 20 likeliest tokens`."""
        can = self.can
        ways = {
            payload.WHOLE: "closed questions by the probability of whole answers",
            payload.LOGPROBS: f"closed questions by the {can.top} likeliest tokens",
            payload.CHOICE: "closed questions by a schema",
            payload.TEXT: "closed questions in free text",
        }
        took = f"took {self.probe_tokens} for one word, " if self.probe_tokens else ""
        notes = {
            "continues a begun reply": can.can_continue,
            "no seed": not can.seed,
            "no temperature": not can.sampling,
            "top_k, min_p and penalties are the server's own": can.sampling and not can.filters,
            "no system role, so personas begin the first message of the user": not can.system,
            f"thinks first ({took}up to {can.thinking} tokens allowed; no plan counts them)": can.thinking,
        }
        words = ", ".join([ways[can.closed], *(note for note, applies in notes.items() if applies)])
        return f"{self.served or self.settings.model} ({can.api}): {words}"

    @property
    def in_flight(self) -> int:
        """The requests at once, with those of workers that have ended."""
        if (growth := shares.growth()) != self._growth:
            self._growth = growth
            self._loop.loop.call_soon_threadsafe(self._grow, growth)
        return int(self.settings.in_flight * growth)

    def _grow(self, growth: float) -> None:
        most = most_flying(int(self.settings.in_flight * growth), len(self.endpoints))
        for endpoint in self.endpoints:
            endpoint.set_limits(most, self.settings.rpm * growth, self.settings.tpm * growth)

    def seedless(self, request: Request) -> bool:
        """Servers vary their replies even at temperature 0, unless the user says that they do not (`once`)."""
        return self.settings.once and self.can.sampling and request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def send(self, requests: Sequence[Request]) -> None:
        self._flying += len(requests)
        self._loop.loop.call_soon_threadsafe(self._start, list(requests))

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        while True:
            if self._error and not self._flying:
                error, self._error = self._error, None
                raise error
            if not wait and self._landed.empty():
                return []
            if landed := self._take():
                return landed

    def _take(self) -> list[tuple[Request, Reply]]:
        """Wait for a reply, and take all that have landed. An error is kept until all requests have landed."""
        landed = [self._landed.get()]
        time.sleep(GATHER * min(self._flying - 1, 100))
        while not self._landed.empty():
            landed.append(self._landed.get())
        self._flying -= len(landed)
        for _, outcome in landed:
            if isinstance(outcome, BaseException):
                self._error = self._error or outcome
        return [(request, outcome) for request, outcome in landed if isinstance(outcome, Reply)]

    def _start(self, requests: list[Request]) -> None:
        for request in requests:
            task = self._loop.loop.create_task(self._land(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _land(self, request: Request) -> None:
        outcome: Reply | BaseException
        try:
            outcome = self._error or hide_in(await self._answer(request))
        except Exception as error:  # noqa: BLE001  carried over to the thread that waits, and raised there
            outcome = error
        if isinstance(outcome, BaseException):
            self._error = self._error or outcome
        self._landed.put((request, outcome))

    async def _answer(self, request: Request) -> Reply:
        """Return the reply to a request. An answer without any probability is asked for in free text."""
        if refused := payload.refuse(request, self.can):
            return refused
        can, spent, counted = self.can, Usage(), dict[str, int]()
        if request.answers and can.closed == payload.WHOLE:
            reply = await self._whole(request)
            if reply.answers or reply.failure:
                return reply
            can, spent, counted = replace(can, closed=payload.TEXT), reply.usage, tokens_noted(reply)
        body = payload.request_body(self.settings.model, request, can)
        read = partial(payload.parse_response, request=request, can=can, served=self.served)
        reply = await self._repeat(request, body, read)
        reply.usage = total([spent, reply.usage])
        reply.notes = add_counts(counted, reply.notes)
        return reply

    async def _whole(self, request: Request) -> Reply:
        """Return the distribution over whole answers, by the next tokens behind their beginnings; none where they do not tell."""
        begun = beginning_of(request)
        letters = any(len(answer) == 1 and answer.isalpha() for answer in request.answers)  # "A" begins many sentences
        lookups = answer_lookups(request.answers, begun, ended=letters and not begun)
        texts, replies = next(lookups), list[Reply]()
        while True:
            bodies = [payload.lookup_body(self.settings.model, request, text, self.can) for text in texts]
            read = partial(payload.parse_lookup, served=self.served)
            new_replies = await asyncio.gather(*[self._repeat(request, body, read) for body in bodies])
            replies += new_replies
            notes: Counter[str] = sum((Counter(each.notes) for each in replies), Counter())
            reply = Reply(None, usage=total(each.usage for each in replies), way=payload.WHOLE, notes=dict(notes))
            if failed := next((each for each in new_replies if each.failure), None):
                reply.failure = failed.failure
                return reply
            try:
                texts = lookups.send([each.answers or {} for each in new_replies])
            except StopIteration as end:
                shares = end.value.shares
                hidden = self.can.top <= payload.FEW_TOP and request.answer_prefix and not all(shares)
                if sum(shares) and not hidden:  # a phrase that 20 tokens do not show is not one of probability 0
                    set_choice(reply, request, shares)
                return reply

    async def _repeat(self, request: Request, fields: Mapping[str, Any], read: Read) -> Reply:
        """Call until a reply or a failure is final."""
        settings = self.settings
        streams = self._streams and int(fields.get(self.can.most, 0)) >= event_stream.LONG
        body = payload.encode_body({**fields, **(event_stream.FIELDS if streams else {})})
        tokens, began = payload.request_size(request), self.clock.now()
        failures, calls, usage, counted = 0, 0, Usage(), dict[str, int]()
        while True:
            endpoint = self._endpoint_for(request)
            reply = await self._call(endpoint, read, body, tokens)
            calls, usage = calls + 1, Usage(*map(sum, zip(usage, reply.usage, strict=True)))
            counted, failure = add_counts(counted, tokens_noted(reply)), reply.failure
            if streams and failure and not failure.transient and "stream" in failure.detail:
                self._streams = False  # the server takes no such field
                return await self._repeat(request, fields, read)
            if failure is None or not failure.transient:
                break
            failures += failure.name not in BUSY
            pause = self._pause(request, failure.name in BUSY, failures)
            waited = self.clock.now() + pause - max(began, *[each.last_success for each in self.endpoints])
            if failures >= settings.attempts or waited > settings.patience or calls >= MOST_CALLS:
                break
            await self.clock.sleep(pause)
        if failure and failure.name in STOP:
            raise UserError(
                f"the server refused the calls to {settings.model}. It answered: {failure.detail}. Correct this, "
                "then repeat the command to continue"
            )
        reply.usage, reply.notes = usage, {**reply.notes, **counted}
        if failure:
            reply.failure = failure._replace(transient=False)
        if calls > 1:
            reply.notes = {**reply.notes, REPEATED: calls - 1}
        return reply

    def _endpoint_for(self, request: Request) -> Endpoint:
        """Return the address of a request's conversation; where none takes calls now, the one that will first."""
        if len(self.endpoints) == 1:
            return self.endpoints[0]
        loads = [Load(endpoint.under_way, endpoint.is_open) for endpoint in self.endpoints]
        place = self._addresses.choose(conversation_of(request.messages), loads)
        return min(self.endpoints, key=lambda endpoint: endpoint.load) if place is None else self.endpoints[place]

    def _pause(self, request: Request, busy: bool, failures: int) -> float:
        """Return the seconds before the next call: until some address takes calls, or longer with each own failure."""
        if busy:
            return min(endpoint.pause for endpoint in self.endpoints)
        return PAUSE * 2.0 ** (failures - 1) * random.Random(request.seed + failures).uniform(0.75, 1.25)

    async def _call(self, endpoint: Endpoint, read: Read, body: bytes, tokens: int) -> Reply:
        path, patience = payload.PATHS[self.can.api], self.settings.patience
        try:
            answer, sent = await endpoint.post(path, body, tokens, patience)
        except NoAnswer as error:
            name = "busy" if error.name == NO_ROOM else error.name
            return Reply.failed(name, str(error), transient=name != MALFORMED)  # what is too long once is so again
        reply = read(answer)
        if reply.failure and reply.failure.name in BUSY:
            wanted = pauses.retry_after(answer)
            if wanted and 0 < patience < wanted and len(self.endpoints) == 1:
                reply.failure = pauses.long_pause(wanted, patience)
            endpoint.slow_down(sent, None if wanted is None else min(wanted, patience))
        elif reply.failure and reply.failure.transient:
            endpoint.note_failure()
        else:
            endpoint.note_success(sent)
        if not self._mixed and (name := served_by(reply.notes)):
            self._mixed = True
            notify(
                f"{endpoint.connection.host} now answers with the model {name}, but began with {self.served}, so the results "
                "mix two models (column `served` of the table `calls`)"
            )
        return reply
