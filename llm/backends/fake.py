"""A stand-in with the shape of a model: a function, a list or a mapping says what it answers. It has no opinions.

`--llm fake` answers speech with a fixed line and refuses every closed question, so that a run on it shows missing ratings
and never made-up ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from parley.llm.request import Backend, Reply, Request, Usage, check_replies

Answer = str | Reply
Source = Callable[[Request], Answer] | Sequence[Answer] | Mapping[str, Answer]


class Fake:
    """Answers from a function of the request, from a list in order of asking, or from a mapping keyed by the last message.

    A list that has run out and a message that the mapping lacks are the named failure `unscripted`. `greedy`: it says of itself
    that the seed does not matter at temperature 0.
    """

    def __init__(self, source: Source, name: str = "fake", in_flight: int = 0, greedy: bool = False):
        self._name, self._in_flight, self._greedy = name, in_flight, greedy
        self._sent: deque[Request] = deque()
        self._answer = _answerer(source)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "fake", "model": self._name}

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def seedless(self, request: Request) -> bool:
        return self._greedy and request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        answer = self._answer
        return [
            given if isinstance(given := answer(request), Reply) else Reply(given, usage=Usage(0, given.count(" ") + 1))
            for request in requests
        ]

    def send(self, requests: Sequence[Request]) -> None:
        self._sent.extend(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """One reply at a time, in the order of asking."""
        request = self._sent.popleft()
        return [(request, reply) for reply in check_replies(self.complete([request]), 1)]


def _answerer(source: Source) -> Callable[[Request], Answer]:
    nothing = Reply.failed("unscripted", "the fake has no answer to this")
    if callable(source):
        return source
    if isinstance(source, Mapping):
        return lambda request: source.get(request.messages[-1].content, nothing)
    script: Iterator[Answer] = iter(source)
    return lambda request: next(script, nothing)


def open_backend(model: str) -> Backend:
    """`--llm fake`: a fixed line for speech, a named failure for closed questions."""
    return Fake(
        lambda request: Reply.failed("unscripted", "the fake has no opinions") if request.answers else "I hear you.",
        model or "fixed line",
    )
