"""A stand-in for a model in tests: a function, a list or a mapping gives its replies. It has no opinions.

`--llm fake` answers speech with a fixed line and refuses every closed question, so a run on it shows missing ratings and never
invented ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parley.llm.request import Backend, Reply, Request, Usage, check_replies

Answer = str | Reply
Source = Callable[[Request], Answer] | Sequence[Answer] | Mapping[str, Answer]


class Fake:
    """Answers from a function of the request, from a list in the order of requests, or from a mapping by the last message.

    When the list is used up or the mapping lacks a message, the reply is the failure `unscripted`. `greedy`: it declares that the
    seed has no effect at temperature 0.
    """

    def __init__(self, source: Source, name: str = "fake", in_flight: int = 0, greedy: bool = False):
        self._name, self._greedy = name, greedy
        self._sent: deque[Request] = deque()
        self._answer = _answerer(source)
        self.in_flight = in_flight

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "fake", "model": self._name}

    def seedless(self, request: Request) -> bool:
        return self._greedy and request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        answers = map(self._answer, requests)
        return [
            answer if isinstance(answer, Reply) else Reply(answer, usage=Usage(0, answer.count(" ") + 1))
            for answer in answers
        ]

    def send(self, requests: Sequence[Request]) -> None:
        self._sent.extend(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """Return one reply at a time, in the order of requests."""
        request = self._sent.popleft()
        return [(request, reply) for reply in check_replies(self.complete([request]), 1)]


def _answerer(source: Source) -> Callable[[Request], Answer]:
    nothing = Reply.failed("unscripted", "the fake has no answer to this")
    if callable(source):
        return source
    if isinstance(source, Mapping):
        return lambda request: source.get(request.messages[-1].content, nothing)
    script = iter(source)
    return lambda request: next(script, nothing)


def open_backend(model: str) -> Backend:
    """Open `--llm fake`: a fixed line for speech, a named failure for closed questions."""
    return Fake(
        lambda request: Reply.failed("unscripted", "the fake has no opinions") if request.answers else "I hear you.",
        model or "fixed line",
    )
