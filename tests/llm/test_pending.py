"""Which requests a model has not answered yet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from parley.llm.backends.fake import Fake
from parley.llm.pending import Pending
from parley.llm.request import Message, Reply, Request, Sampling


def asked(seed: int) -> Request:
    return Request((Message("user", "Say hello."),), Sampling(), seed)


class Slow(Fake):
    """A network that answers the request that was sent last, when it is asked to."""

    in_flight = 2

    def __init__(self) -> None:
        super().__init__(lambda request: "hello")
        self.sent: list[Request] = []

    def send(self, requests: Sequence[Request]) -> None:
        self.sent += requests

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        return [(self.sent.pop(), Reply("hello"))]


def test_what_lands_is_waited_for_no_longer() -> None:
    """The page would else go on naming an agent that has spoken."""
    backend, one, other = Pending(Slow()), asked(1), asked(2)
    backend.send([one, other])
    assert [request.seed for _, request, _ in backend.waiting()] == [1, 2]
    backend.receive()
    assert [request.seed for _, request, _ in backend.waiting()] == [1]
    backend.receive()
    assert backend.waiting() == []


def test_a_batch_is_waited_for_while_it_is_computed_and_after_an_error_no_longer() -> None:
    seen: list[int] = []

    def answer(request: Request) -> str:
        seen.append(len(backend.waiting()))
        if request.seed == 3:
            raise ValueError("no")
        return "hello"

    backend = Pending(Fake(answer))
    backend.complete([asked(1), asked(2)])
    assert seen == [2, 2]
    assert backend.waiting() == []
    with pytest.raises(ValueError, match="no"):
        backend.complete([asked(3)])
    assert backend.waiting() == []
