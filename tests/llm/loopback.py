"""An OpenAI-compatible server on loopback that does what a test tells it to: answers, lies, breaks off, storms."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]
REASONS = {200: "OK"}


@dataclass
class Act:
    """What to do with a call. `half` sends so much of the body and breaks off, `hang` never answers, `reset` hangs up at once,
    `drip` sends a byte of the body now and then, `flood` sends megabytes without an end.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    half: float = 1.0
    hang: bool = False
    reset: bool = False
    drip: bool = False
    flood: bool = False


Plan = Callable[[Body, int], Act]
"""What is done with a body that comes for the first, second, ... time."""


class Loopback:
    """`with Loopback(plan) as server:` `asked` are the bodies in the order of their coming, `keys` the keys they came with,
    `passes` those to it as a proxy, `targets` what each call asked for, `most` how many it had at once. `slow` is how many
    seconds it takes for each.
    """

    def __init__(self, plan: Plan, slow: float = 0.0):
        self.plan, self.asked, self.keys, self.slow = plan, [], set(), slow
        self.times: Counter[str] = Counter()
        self.targets: list[str] = []
        self.passes: set[str] = set()
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
        self.keys.add(fields.get("authorization", ""))
        if head[0].startswith("GET"):
            act = Act(body=json.dumps({"data": [{"id": "echo"}, {"id": "other"}]}).encode())
        else:
            body = json.loads(told)
            self.asked.append(body)
            self.times[told.decode()] += 1
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(self.slow)
            act = self.plan(body, self.times[told.decode()])
            self.now -= 1
        return await self._do(act, writer)

    async def _do(self, act: Act, writer: asyncio.StreamWriter) -> bool:
        if act.hang:
            await asyncio.Event().wait()
        if act.reset:
            writer.transport.abort()
            return False
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
