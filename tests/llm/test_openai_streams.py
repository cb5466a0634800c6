"""Long replies come token by token: a call is given up when no token comes for some time, not when the reply takes long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from parley.llm.backends.openai.answers import LONG, MEDIA
from parley.llm.backends.openai.transport import Clock, Connection, Endpoint, NoAnswer
from parley.llm.budget import REPEATED
from parley.llm.request import Message, Request, Sampling, Usage

from .loopback import Act, Body, Loopback, problem, said, streamed
from .test_openai import after_the_probe, backend, client, question  # noqa: F401  (a fixture)

WORDS = ("Taxes", " help", ".", " They", " cut", " emissions", ".")


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop on which nobody waits: its clock jumps to the next thing that is due."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class LoopClock(Clock):
    def now(self) -> float:
        return asyncio.get_running_loop().time()


class SlowServer:
    """Works on `slots` calls at once; sends a token every `pace` seconds of the loop's time, or all of them at the end."""

    def __init__(self, slots: int, pace: float, tokens: int, streams: bool = True, prompt: float = 0.0):
        self.slots, self.pace, self.tokens, self.streams, self.prompt = (
            asyncio.Semaphore(slots),
            pace,
            tokens,
            streams,
            prompt,
        )
        self.calls = 0

    @asynccontextmanager
    async def request(self, *_: object, **__: object) -> AsyncIterator[Any]:
        self.calls += 1
        async with self.slots:
            await asyncio.sleep(self.prompt)
            if not self.streams:
                await asyncio.sleep(self.pace * self.tokens)
            media = MEDIA if self.streams else "application/json"
            content = SimpleNamespace(iter_any=self._events)
            yield SimpleNamespace(
                status=200, headers={}, content_type=media, content=content, content_length=2, read=self._whole
            )

    async def _events(self) -> AsyncIterator[bytes]:
        for _ in range(self.tokens):
            await asyncio.sleep(self.pace)
            yield b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'
        yield b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'

    async def _whole(self) -> bytes:
        return b"{}"


def in_virtual_time(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        return runner.run(work)


async def judge(server: SlowServer, most: int, calls: int, patience: float = 600.0) -> list[Any]:
    """Send so many calls, each as often as needed (four times at most), through one endpoint that allows 120 s."""
    connection = Connection("http://127.0.0.1:1/v1", "key", 120.0)
    await connection._session.close()
    connection._session = server  # type: ignore[assignment]
    endpoint = Endpoint(connection, most, 0, 0, LoopClock())

    async def ask() -> Any:
        for _ in range(4):
            try:
                answer, sent = await endpoint.post("/chat/completions", b"{}", 1, patience)
            except NoAnswer:
                continue
            endpoint.note_success(sent)
            return answer.body
        return None

    return [*await asyncio.gather(*(ask() for _ in range(calls))), asyncio.get_running_loop().time()]


def test_a_judge_of_20_statements_ends_on_a_server_of_four_slots() -> None:
    """800 tokens at 5 a second take 160 s: each was given up after 120 s, dropped by the server and asked again from the start.

    Now each is asked once, and the server is never idle: five times 160 s.
    """

    async def run() -> tuple[list[Any], int]:
        server = SlowServer(slots=4, pace=0.2, tokens=800)
        return await judge(server, most=4, calls=20), server.calls

    (*bodies, seconds), calls = in_virtual_time(run())
    assert [json.loads(body)["choices"][0]["message"]["content"] for body in bodies] == ["a" * 800] * 20
    assert (calls, seconds) == (20, pytest.approx(5 * 160))


@pytest.mark.parametrize(("streams", "prompt"), [(True, 200.0), (False, 50.0)])
def test_a_server_that_needs_longer_gets_longer(streams: bool, prompt: float) -> None:
    """The first token comes after 200 s, or the whole reply after 130 s: with the same time again it would never come.

    The first four calls are lost; from then on there is time enough.
    """

    async def run() -> tuple[list[Any], int]:
        server = SlowServer(slots=4, pace=0.1, tokens=800, streams=streams, prompt=prompt)
        return await judge(server, most=4, calls=12), server.calls

    (*bodies, _), calls = in_virtual_time(run())
    assert None not in bodies
    assert calls == 12 + 4


def test_a_queue_of_the_server_does_not_stop_a_run() -> None:
    """A server of one stream that does not say so: fewer and fewer are sent at once, and all replies come."""

    async def run() -> tuple[list[Any], int]:
        server = SlowServer(slots=1, pace=0.1, tokens=300)
        return await judge(server, most=32, calls=40), server.calls

    (*bodies, _), calls = in_virtual_time(run())
    assert bodies.count(None) == 0
    assert calls < 2 * 40


def statement(number: int) -> Request:
    return Request((Message("user", f"Rate statement {number}."),), Sampling(0.7, 800), number)


def tokens(body: Body, time: int) -> Act:
    return streamed(*WORDS)


def test_a_stream_is_put_together(client: str) -> None:  # noqa: F811
    """Text and usage as of a reply that comes at once, and no more calls at once than the server has slots."""
    with Loopback(after_the_probe(tokens), slots=4) as server:
        replies = backend(server, client=client, in_flight=32).complete([statement(number) for number in range(20)])
        assert server.most <= 4
    assert {reply.text for reply in replies} == {"".join(WORDS)}
    assert {reply.usage for reply in replies} == {Usage(20, len(WORDS))}


def test_only_long_replies_come_token_by_token() -> None:
    """A short one comes at once, as before: reading tokens one by one takes processor time."""
    with Loopback(after_the_probe(tokens)) as server:
        backend(server).complete([question(), Request((Message("user", "Why?"),), Sampling(0.7, LONG), 1)])
        assert ["stream" in body for body in server.asked[-2:]] == [False, True]


@pytest.mark.parametrize(
    ("act", "name", "seconds"),
    [
        (streamed(*WORDS, gap=0.6), "timeout", 0.3),
        (streamed(*WORDS, reason=None), "connection", 5.0),
        (Act(events=[{"error": {"code": 500, "message": "out of memory"}}]), "server_error", 5.0),
        (Act(events=["no event"]), "malformed", 5.0),
    ],
)
def test_a_stream_that_stops_is_a_named_failure(act: Act, name: str, seconds: float, client: str) -> None:  # noqa: F811
    """It stalls, breaks off, tells an error, or is none of this protocol."""
    with Loopback(after_the_probe(lambda body, time: act)) as server:
        (reply,) = backend(server, client=client, timeout=seconds, attempts=1).complete([statement(1)])
    assert reply.failure is not None
    assert reply.failure.name == name


def test_a_server_that_sends_no_stream_is_asked_without() -> None:
    """It refuses the field, and is not sent it again; or it takes no notice of it."""

    def refuse(body: Body, time: int) -> Act:
        return problem(400, "unsupported field: stream_options") if "stream" in body else said("Yes.")

    for plan, fields in ((refuse, [True, False, False]), (lambda body, time: said("Yes."), [True, True])):
        with Loopback(after_the_probe(plan)) as server:
            asked = backend(server)
            probed = len(server.asked)
            replies = [asked.complete([statement(number)])[0] for number in range(2)]
            assert ["stream" in body for body in server.asked[probed:]] == fields
        assert [(reply.text, reply.notes.get(REPEATED)) for reply in replies] == [("Yes.", None)] * 2
