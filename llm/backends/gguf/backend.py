"""The backend: each slot of the engine answers one request after the other, and replies land as they are finished."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parley.llm.answer_tree import answer_lookups
from parley.llm.backends.gguf.calls import Sampler, read_speech, read_table, speech_call, table_call
from parley.llm.backends.gguf.engine import PACKAGE, Engine, EngineSettings
from parley.llm.backends.gguf.header import Header
from parley.llm.backends.gguf.speed import SpeedLog
from parley.llm.driver import complete_all
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Failure, Reply, Request, Usage, set_choice, total

Landed = tuple[Request, Reply | BaseException]


class Gguf:
    """A model of a GGUF file as a network of `slots` requests in flight, so that a journal keeps each reply when it is there."""

    def __init__(self, engine: Engine, header: Header, settings: EngineSettings, sampler: Sampler, is_chat: bool):
        self.engine, self.header, self.settings, self.sampler, self.is_chat = engine, header, settings, sampler, is_chat
        self._speed = SpeedLog(header.size)
        self._asked: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._landed: queue.SimpleQueue[Landed] = queue.SimpleQueue()
        self._flying = 0
        self._error: BaseException | None = None
        for number in range(settings.slots):
            threading.Thread(target=self._work, name=f"gguf {number}", daemon=True).start()

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "gguf",
            "model": self.header.name,
            "weights": self.header.digest,
            "style": "chat" if self.is_chat else "plain",
            "closed": "exact",
            "sampler": self.sampler._asdict(),
            "context": self.settings.context,
            "slots": self.settings.slots,
            "keep": self.settings.keep,
            "versions": {PACKAGE: self.engine.version},
        }

    @property
    def says(self) -> str:
        """The model and how it is asked, in words."""
        style = "chat" if self.is_chat else "plain text, as it knows no turns of a chat"
        threads, slots = self.settings.threads, self.settings.slots
        at_once = f", {slots} requests at the same time (a repeated run may differ)" if slots > 1 else ""
        return (
            f"{self.header.name} ({style}): exact probabilities of the allowed answers, {threads} "
            f"thread{'s' * (threads > 1)}{at_once}"
        )

    @property
    def in_flight(self) -> int:
        return self.settings.slots

    def seedless(self, request: Request) -> bool:
        """At temperature 0 the reply is the likeliest token or answer, whatever the seed."""
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def send(self, requests: Sequence[Request]) -> None:
        self._flying += len(requests)
        for request in requests:
            self._asked.put(request)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        while self._flying and (wait or not self._landed.empty()):
            request, outcome = self._landed.get()
            self._flying -= 1
            if isinstance(outcome, Reply):
                return [(request, outcome)]
            self._error = self._error or outcome
        if self._error and not self._flying:
            error, self._error = self._error, None
            raise error
        return []

    def _work(self) -> None:
        while True:
            request = self._asked.get()
            try:
                outcome: Reply | BaseException = self._reply(request)
            except Exception as error:  # noqa: BLE001  carried over to the thread that waits, and raised there
                outcome = error
            self._landed.put((request, outcome))

    def _reply(self, request: Request) -> Reply:
        if request.purpose == EMBEDDING:
            return Reply.failed("no_embeddings", "a model of a GGUF file writes, and gives no embeddings here")
        if request.answers:
            return self._closed(request)
        data = self._call(speech_call(request, self.sampler, self.is_chat))
        return read_speech(data, request, self.is_chat)

    def _closed(self, request: Request) -> Reply:
        """Return the reply to a closed question: the distribution over its answers, however little probability they have."""
        usages: list[Usage] = []
        letters = any(len(answer) == 1 and answer.isalpha() for answer in request.answers)
        lookups = answer_lookups(request.answers, request.answer_prefix, ended=letters and not request.answer_prefix)
        texts = next(lookups)
        while True:
            tables = []
            for text in texts:
                table = read_table(self._call(table_call(request, text, self.is_chat), is_first=not usages))
                if isinstance(table, Failure):
                    return Reply(None, table, total(usages))
                tables.append(table[0])
                usages.append(table[1])
            try:
                texts = lookups.send(tables)
            except StopIteration as end:
                shares = end.value.shares
                break
        usage = Usage(usages[0].prompt_tokens, len(usages))
        reply = Reply(None, usage=usage, way="exact", covered=min(sum(shares), 1.0))
        if sum(shares) > 0:
            set_choice(reply, request, shares)
        else:
            reply.failure = Failure("not_covered", "none of the allowed answers is among the likeliest replies")
        return reply

    def _call(self, body: Mapping[str, Any], is_first: bool = True) -> Mapping[str, Any]:
        """Return the answer to a call. It may go on from what was read before: within a request always, else if that is kept."""
        ask: Callable[[Mapping[str, Any]], Mapping[str, Any]] = (
            self.engine.chat if self.is_chat else self.engine.complete
        )
        data = ask({**body, "cache_prompt": not is_first or self.settings.keep > 0})
        self._speed.add(data, is_first)
        return data
