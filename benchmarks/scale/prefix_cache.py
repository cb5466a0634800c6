"""A model's server with a prefix cache, in words: what vLLM keeps of prompts (blocks of 16 tokens, oldest leave first).

`CachedServer` is the arithmetic alone; `SimulatedServers` is a backend on several of them whose time is counted, not waited for.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from parley.llm.backends.openai.addresses import Addresses, Load, conversation_of
from parley.llm.driver import complete_all
from parley.llm.request import Backend, Message, Reply, Request

BLOCK = 16
"""Words of a block (vLLM: tokens)."""
ROOM = 100_000
"""Blocks that a server keeps: 1.6 million words."""


def words_of(messages: Sequence[Message]) -> list[str]:
    """Return a prompt as words, each message behind its role."""
    return [word for message in messages for word in (f"<{message.role}>", *message.content.split())]


def blocks_of(words: Sequence[str]) -> list[bytes]:
    """Return the digest of each whole block of words and of all before it."""
    chain, blocks = b"", []
    for start in range(0, len(words) - BLOCK + 1, BLOCK):
        chain = blake2b(chain + " ".join(words[start : start + BLOCK]).encode(), digest_size=8).digest()
        blocks.append(chain)
    return blocks


class CachedServer:
    """One server. It computes prompts one after the other, and writes all replies at the same time."""

    def __init__(self, seconds_a_word: float, seconds_a_reply: float, room: int = ROOM):
        self.word, self.reply, self.room = seconds_a_word, seconds_a_reply, room
        self._kept: OrderedDict[bytes, None] = OrderedDict()
        self._free = 0.0
        self.flying = self.calls = self.words = self.computed = 0

    def look_up(self, words: Sequence[str], reply: Sequence[str]) -> int:
        """Return the words of a prompt that need not be computed, and keep the prompt with its reply."""
        blocks, known = blocks_of([*words, *reply]), 0
        for block in blocks[: len(words) // BLOCK]:
            if block not in self._kept:
                break
            known += 1
        for block in blocks:
            self._kept[block] = None
            self._kept.move_to_end(block)
        while len(self._kept) > self.room:
            self._kept.popitem(last=False)
        cached = known * BLOCK
        self.calls, self.words, self.computed = (
            self.calls + 1,
            self.words + len(words),
            self.computed + len(words) - cached,
        )
        return cached

    def ends_at(self, now: float, computed: int) -> float:
        """Return when the reply to a prompt is written that comes now and needs so many words computed."""
        self._free = max(now, self._free) + computed * self.word
        return self._free + self.reply


Choice = Callable[[Request, Sequence[CachedServer]], CachedServer]
"""Chooses the server of a request."""


def by_load(request: Request, servers: Sequence[CachedServer]) -> CachedServer:
    """The server with the fewest calls under way."""
    return min(servers, key=lambda server: (server.flying, server.calls))


def by_conversation(count: int) -> Choice:
    """The rule of the endpoint client."""
    addresses = Addresses([f"http://127.0.0.1:{8000 + number}/v1" for number in range(count)])

    def choose(request: Request, servers: Sequence[CachedServer]) -> CachedServer:
        place = addresses.choose(conversation_of(request.messages), [Load(server.flying) for server in servers])
        assert place is not None
        return servers[place]

    return choose


class SimulatedServers:
    """A network whose replies are those of `inner`, and come when its servers would have written them. `now` is its clock."""

    def __init__(self, inner: Backend, servers: Sequence[CachedServer], choose: Choice, in_flight: int):
        self.inner, self.servers, self.choose, self.in_flight = inner, servers, choose, in_flight
        self.now = 0.0
        self._landing: list[tuple[float, int, Request, Reply, CachedServer]] = []
        self._sent = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.inner.identity

    @property
    def computed(self) -> int:
        return sum(server.computed for server in self.servers)

    def seedless(self, request: Request) -> bool:
        return False

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def send(self, requests: Sequence[Request]) -> None:
        for request, reply in zip(requests, self.inner.complete(requests), strict=True):
            server = self.choose(request, self.servers)
            server.flying += 1
            words = words_of(request.messages)
            ends = server.ends_at(self.now, len(words) - server.look_up(words, (reply.text or "").split()))
            self._sent += 1
            heapq.heappush(self._landing, (ends, self._sent, request, reply, server))

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        self.now, _, request, reply, server = heapq.heappop(self._landing)
        server.flying -= 1
        return [(request, reply)]
