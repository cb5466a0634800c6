"""The backend: each slot of the engine answers one request after the other, and replies land as they are finished."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from parley.llm.backends.gguf.answering import Answering
from parley.llm.backends.gguf.engine import PACKAGE, Engine, EngineSettings
from parley.llm.backends.gguf.header import Header
from parley.llm.backends.gguf.speed import SpeedLog
from parley.llm.driver import complete_all
from parley.llm.errors import UserError
from parley.llm.request import BEGUN, Message, Reply, Request, Sampling

Landed = tuple[Request, Reply | BaseException]


class Gguf:
    """A model of a GGUF file as a network of `slots` requests in flight, so that a journal keeps each reply when it is there."""

    def __init__(
        self,
        engine: Engine,
        header: Header,
        settings: EngineSettings,
        penalty: float,
        is_chat: bool,
        adapters: Mapping[str, str] = MappingProxyType({}),
    ):
        """adapters: digests of their weights by name, in the order of `settings.adapters`."""
        self.engine, self.header, self.settings, self.penalty, self.is_chat = engine, header, settings, penalty, is_chat
        self.adapters = adapters
        speed = SpeedLog(header.size)
        self._answering = Answering(engine, penalty, is_chat, settings.keep > 0, speed, tuple(adapters))
        self._asked: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._landed: queue.SimpleQueue[Landed] = queue.SimpleQueue()
        self._flying = 0
        self._error: BaseException | None = None
        for number in range(settings.slots):
            work = (
                self._answering,
                self._asked,
                self._landed,
            )  # and not this object: the engine is freed along with it
            threading.Thread(target=_work, args=work, name=f"gguf {number}", daemon=True).start()
        self.close = weakref.finalize(self, _end_work, self._asked, settings.slots)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "gguf",
            "model": self.header.name,
            "weights": self.header.digest,
            "style": "chat" if self.is_chat else "plain",
            "closed": "exact",
            "penalty": self.penalty,
            "context": self.settings.context,
            "slots": self.settings.slots,
            "keep": self.settings.keep,
            **({"adapters": dict(self.adapters)} if self.adapters else {}),
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

    def check_begun(self) -> None:
        """Errors: UserError where the chat template of the file cannot go on from a begun reply, as closed questions need."""
        request = Request((Message("user", "Hello."),), Sampling(0.0, 1), 0, begin="I think")
        reply = self._answering.reply(request)
        if self.is_chat and not reply.notes.get(BEGUN):
            reason = f" ({reply.failure.detail})" if reply.failure else ""
            raise UserError(
                f"the chat template of {self.header.name} cannot continue a begun reply{reason}: add the option style=plain"
            )

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


def _work(answering: Answering, requests: queue.SimpleQueue[Request | None], landed: queue.SimpleQueue[Landed]) -> None:
    """Answer one request after the other, until there is a None in the queue."""
    while request := requests.get():
        try:
            outcome: Reply | BaseException = answering.reply(request)
        except Exception as error:  # noqa: BLE001  carried over to the thread that waits, and raised there
            outcome = error
        landed.put((request, outcome))


def _end_work(requests: queue.SimpleQueue[Request | None], slots: int) -> None:
    for _ in range(slots):
        requests.put(None)
