"""Servers with a prefix cache on loopback, each at a port of its own.

    python -m benchmarks.scale.loopback_servers COUNT WORD REPLY

WORD and REPLY are the seconds for a word of a prompt that is not in the cache, and for a reply. One line has the ports. A reply
depends on the prompt alone: a number from 0 to 10 where the question asks for one, else forty words. `usage` says how many words
of the prompt were in the cache (`cached_tokens`).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import zlib
from functools import partial
from typing import Any

from benchmarks.scale.prefix_cache import CachedServer, words_of
from parley.llm.request import Message

VOCABULARY = (
    "we",
    "have",
    "heard",
    "what",
    "this",
    "town",
    "needs",
    "and",
    "it",
    "will",
    "cost",
    "us",
    "more",
    "than",
    "said",
)


def reply_text(messages: list[Message]) -> str:
    """Return a rating or forty words, drawn by what is asked."""
    drawn = random.Random(zlib.crc32("\n".join(message.content for message in messages).encode()))
    if "one number" in messages[-1].content:
        return str(drawn.randrange(11))
    return " ".join(drawn.choices(VOCABULARY, k=40)).capitalize() + "."


def answer(server: CachedServer, body: bytes, now: float) -> tuple[float, bytes]:
    """Return when the reply to a call is written, and the response."""
    messages = [Message(message["role"], message["content"]) for message in json.loads(body)["messages"]]
    text, words = reply_text(messages), words_of(messages)
    cached = server.look_up(words, text.split())
    usage: dict[str, Any] = {"prompt_tokens": len(words), "completion_tokens": len(text.split())}
    usage["prompt_tokens_details"] = {"cached_tokens": cached}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    told = json.dumps({"object": "chat.completion", "model": "echo", "choices": [choice], "usage": usage}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(told)
    return server.ends_at(now, len(words) - cached), head + told


class Answer(asyncio.Protocol):
    """One connection to a server. It has one call at a time, as that of an HTTP client."""

    def __init__(self, server: CachedServer):
        self.server, self.held = server, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, found, body = self.held.partition(b"\r\n\r\n")
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if found and len(body) >= length:
            self.held = b""
            loop = asyncio.get_running_loop()
            known = head.startswith(b"POST")
            ends, told = answer(self.server, body, loop.time()) if known else (0.0, NOT_FOUND)
            loop.call_at(ends, self.say, told)

    def say(self, told: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(told)  # type: ignore[attr-defined]


NOT_FOUND = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"


async def serve(count: int, word: float, reply: float) -> None:
    loop, ports = asyncio.get_running_loop(), []
    for _ in range(count):
        opened = await loop.create_server(partial(Answer, CachedServer(word, reply)), "127.0.0.1", 0)
        ports.append(opened.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))
