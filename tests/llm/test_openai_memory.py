"""What a fault leaves behind: nothing that waits for Python to look for cycles."""

from __future__ import annotations

import gc

import aiohttp
import pytest

from parley.llm.backends.openai.transport import NoAnswer
from parley.llm.request import Message, Request, Sampling

from .loopback import Act, Body, Loopback, echo, said
from .test_openai import backend


def broken(body: Body, time: int = 1) -> Act:
    """Every other call breaks off halfway; the rest goes well, so that the server counts as there."""
    number = body["messages"][-1]["content"].removeprefix("number ")
    return Act(body=said("text").body, half=0.5) if number.isdecimal() and int(number) % 2 else echo(body)


@pytest.mark.thorough
def test_a_connection_that_breaks_leaves_no_cycles() -> None:
    """The error kept the connection and the request through its traceback until Python looked for cycles, which a run has it do
    seldom: some 6 kB a fault, 10 MB over 2,500 of them."""
    asked = [Request((Message("user", f"number {number}"),), Sampling(1.0, 20, 1.0), number) for number in range(60)]
    with Loopback(broken) as server:
        opened = backend(server, attempts=1)
        opened.complete(asked[:20])
        gc.collect()
        gc.disable()
        try:
            replies = opened.complete(asked[20:])
            assert sum(reply.failure is not None for reply in replies) >= 15
            before = errors()
        finally:
            gc.enable()
    gc.collect()
    assert before == errors()  # what the collector would have had to find


def errors() -> int:
    """How many errors of a call are still there."""
    kinds = (NoAnswer, aiohttp.ClientPayloadError)
    return sum(
        issubclass(type(one), kinds) for one in gc.get_objects()
    )  # isinstance would ask a dead weak proxy for its class
