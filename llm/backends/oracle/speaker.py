"""The backend: reads each request, finds the kind of question, has it answered."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from types import ModuleType
from typing import Any

from parley.llm.backends.oracle import asks
from parley.llm.backends.oracle.banks import fingerprint
from parley.llm.backends.oracle.civic import law
from parley.llm.backends.oracle.mind import Parameters, attitude, biased, planted
from parley.llm.backends.oracle.reading import Reading, read
from parley.llm.request import Reply, Request, Usage


class Oracle:
    """The known-truth speaker; `parameters` by topic are the truth that an analysis should find again."""

    in_flight = 0
    stance_in_speech, stance_in_interviews, stance_first = 0.4, 0.55, False
    """Shares of replies and answers with the stance sentence, the same that answers a labelled survey (docs/oracle.md), and
    whether it comes before the sentences that go with it (else anywhere among them)."""

    def __init__(self, changes: Mapping[str, float] | None = None, pull: float | None = None):
        self.parameters: dict[str, Parameters] = planted(changes)
        self.pull = law("pull") if pull is None else pull

    @property
    def identity(self) -> Mapping[str, Any]:
        truth = {slug: asdict(values) for slug, values in self.parameters.items()}
        return {
            "backend": "oracle",
            "kind": "rule-based speaker with a planted, known bias",
            "parameters": truth,
            "pull": self.pull,
            "banks": fingerprint(),
        }

    def seedless(self, request: Request) -> bool:
        """A survey at temperature 0 has the likeliest answer; its judges and those who break ties draw at any temperature."""
        return request.sampling.temperature == 0 and request.purpose == "survey"

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def attitude(self, reading: Reading) -> tuple[float, int]:
        """Attitude on the reading's topic, and the number of lines that could not be read."""
        if reading.topic is None:
            raise ValueError("the reading has no topic")
        planted = biased(self.parameters[reading.topic], reading.bias)
        value, unread = attitude(reading.persona, reading.topic, reading.heard, planted)
        return value, unread + reading.unheard

    def _reply(self, request: Request) -> Reply:
        reading = read(request)
        kind = next((kind for kind in kinds() if kind.knows(reading)), None)
        if kind is None:
            return Reply.failed("unknown_ask", reading.ask[:120])
        reply: Reply = kind.answer(reading, self)
        if reply.text is not None:
            prompt_words = sum(message.content.count(" ") + 1 for message in request.messages)
            reply.usage = Usage(prompt_words, reply.text.count(" ") + 1)
        return reply


@cache
def kinds() -> tuple[ModuleType, ...]:
    """The kinds of question, in the order in which they are tried (`ORDER` of each module)."""
    modules = [
        importlib.import_module(f"{asks.__name__}.{module.name}") for module in pkgutil.iter_modules(asks.__path__)
    ]
    return tuple(sorted(modules, key=lambda module: (module.ORDER, module.__name__)))
