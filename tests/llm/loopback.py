"""An OpenAI-compatible server on loopback that does what a test tells it to: answers, lies, breaks off, storms."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]
REASONS = {200: "OK"}


@dataclass
class Act:
    """What to do with a call. `half` sends so much of the body and breaks off, `hang` never answers, `reset` hangs up at once,
    `drip` sends a byte of the body now and then, `flood` sends megabytes without an end. `events` are sent one by one in place of
    a body, each after `gap` seconds.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    half: float = 1.0
    hang: bool = False
    reset: bool = False
    drip: bool = False
    flood: bool = False
    events: Sequence[Any] = ()
    gap: float = 0.0


Plan = Callable[[Body, int], Act]
"""What is done with a body that comes for the first, second, ... time."""


class Loopback:
    """`with Loopback(plan) as server:` `asked` are the bodies in their order, `keys` the keys they came with, `names` all
    headers, `passes` the keys to it as a proxy, `targets` what each call asked for, `most` how many it had at once. `slow` is the
    seconds that it takes for each, and `slots` how many it says that it works on at once (0: it does not say).
    """

    def __init__(self, plan: Plan, slow: float = 0.0, slots: int = 0):
        self.plan, self.asked, self.keys, self.slow, self.slots = plan, [], set(), slow, slots
        self.times: Counter[str] = Counter()
        self.targets: list[str] = []
        self.passes: set[str] = set()
        self.names: set[str] = set()
        self.most = self.now = 0
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Loopback:
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _work(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _open(self) -> asyncio.Server:
        self._open_ones: set[asyncio.Task[None]] = set()
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _shut(self) -> None:
        self._server.close()
        for task in self._open_ones:
            task.cancel()
        await asyncio.gather(*self._open_ones, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open_ones.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.transport.abort()  # what is not sent yet is sent no more
        finally:
            self._open_ones.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        told = await reader.readexactly(int(fields.get("content-length", 0)))
        self.targets.append(head[0].split()[1])
        self.passes.add(fields.get("proxy-authorization", ""))
        self.names |= fields.keys()
        self.keys.add(fields.get("authorization", ""))
        if head[0].startswith("GET"):
            act = Act(body=json.dumps({"data": [{"id": "echo"}, {"id": "other"}]}).encode())
            if self.slots and self.targets[-1] == "/props":
                act = Act(body=json.dumps({"total_slots": self.slots}).encode())
        else:
            body = json.loads(told)
            self.asked.append(body)
            self.times[told.decode()] += 1
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(self.slow)
            act = self.plan(body, self.times[told.decode()])
            try:
                return await self._do(act, writer)
            finally:
                self.now -= 1
        return await self._do(act, writer)

    async def _do(self, act: Act, writer: asyncio.StreamWriter) -> bool:
        if act.hang:
            await asyncio.Event().wait()
        if act.reset:
            writer.transport.abort()
            return False
        if act.events:
            return await self._send_events(act, writer)
        head = {"Content-Type": "application/json", "Content-Length": str(len(act.body)), **act.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {act.status} {REASONS.get(act.status, 'No')}\r\n{lines}\r\n".encode())
        while act.flood:
            writer.write(b" " * 2**20)
            await writer.drain()
        while act.drip:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(act.body[: math.floor(len(act.body) * act.half)])
        await writer.drain()
        return act.half == 1.0

    async def _send_events(self, act: Act, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in [*map(json.dumps, act.events), "[DONE]"]:
            line = f"data: {event}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(line), line))
            await writer.drain()
            await asyncio.sleep(act.gap)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def streamed(*pieces: str, gap: float = 0.0, reason: str | None = "stop") -> Act:
    """A chat completion that comes in pieces; without a `reason` it breaks off."""
    events = [{"model": "echo-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}]
    events += [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    if reason:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        usage = {"prompt_tokens": 20, "completion_tokens": len(pieces)}
        events.append({"choices": [], "usage": usage})
    return Act(events=events, gap=gap)


def said(text: str | None, reason: str = "stop", message: Mapping[str, Any] | None = None, **more: Any) -> Act:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **(message or {})}, "finish_reason": reason}
    told = {
        "id": "x",
        "object": "chat.completion",
        "model": "echo-1",
        "choices": [{**choice, **more}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }
    return Act(body=json.dumps(told).encode())


def problem(status: int, message: str = "no", code: str | None = None, **headers: str) -> Act:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(status, json.dumps({"error": {"message": message, "code": code}}).encode(), names)


def echo(body: Body, time: int = 1) -> Act:
    """A text that depends on all of what is asked and on nothing else."""
    if "prompt" in body:
        return completed(digest(body))
    return said(digest(body))


def digest(body: Body) -> str:
    return "I say " + hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]


def completed(text: str, **more: Any) -> Act:
    """A legacy completion."""
    told = {
        "object": "text_completion",
        "model": "echo-1",
        "choices": [{"index": 0, "text": text, "finish_reason": "stop", **more}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5},
    }
    return Act(body=json.dumps(told).encode())


def likely(*places: tuple[str, Mapping[str, float]]) -> dict[str, Any]:
    """Chat logprobs: for each place the token said and the probabilities of what might have been said."""
    content = [
        {
            "token": token,
            "logprob": math.log(shares.get(token, 0.5)),
            "top_logprobs": [{"token": one, "logprob": math.log(share)} for one, share in shares.items()],
        }
        for token, shares in places
    ]
    return {"content": content}
