"""Which of several addresses a request goes to. A conversation stays with one: its server keeps the start of the prompt.

A server computes only what it has not computed before (the prefix cache of vLLM, SGLang or llama.cpp), and the prompt of an agent
begins with what the agent sent before. Each conversation has an order of all addresses by chance (rendezvous hashing: Thaler and
Ravishankar 1998) and goes to the first that is open and has no more calls than the mean (bounded loads: Mirrokni, Thorup and
Zadimoghaddam 2018). It stays there until that address fails, or is far above the mean.
An address is no part of a request or a record.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from hashlib import blake2b
from typing import NamedTuple

from parley.llm.request import Message

BEGINNING = 256
"""Characters by which a conversation is known: of a persona, or of a short system message and the names behind it. With all of
both messages, one conversation would be two; with the system message alone, all agents without a persona would be one.
"""
ABOVE, SPARE = 0.2, 8
"""A conversation leaves its address when that has so much more than the mean of the latest calls (a share), and so many more.
A new one goes to an address below the mean. Both bounds are the best simple ones of benchmarks/scale (tools/log).
"""
MANY, SPARE_FLYING = 2, 4
"""An address has so many times the mean of the calls under way at most, and so many more."""
LATEST = 100
"""Calls of an address, in the mean, after which older calls count half."""
MOST_KNOWN = 1 << 17
"""Conversations whose address is known; an older one goes to the first in its order again, mostly the same."""


class Load(NamedTuple):
    """How many calls an address has under way, and whether it takes further ones now."""

    flying: int = 0
    is_open: bool = True


def conversation_of(messages: Sequence[Message]) -> bytes:
    """Return what identifies a conversation: a digest of its first 256 characters, which stay the same from turn to turn.

    >>> first, second = Message("system", "You are Ann."), Message("user", "Why? " * 60)
    >>> conversation_of([first, second]) == conversation_of([first, second, Message("assistant", "Because.")])
    True
    """
    beginning = ""
    for message in messages:
        beginning += f"{message.content}\n"
        if len(beginning) >= BEGINNING:
            break
    return blake2b(beginning[:BEGINNING].encode(errors="replace"), digest_size=16).digest()


def most_flying(in_flight: int, addresses: int) -> int:
    """Return how many of the requests in flight one of some addresses may have at once.

    >>> most_flying(32, 1), most_flying(32, 8), most_flying(2, 8)
    (32, 12, 2)
    """
    return in_flight if addresses == 1 else min(in_flight, MANY * -(-in_flight // addresses) + SPARE_FLYING)


def order_of(conversation: bytes, names: Sequence[str]) -> list[int]:
    """Return the places of all addresses in the order of one conversation. It does not depend on the order of the names."""
    weights = [blake2b(conversation + name.encode(), digest_size=8).digest() for name in names]
    return sorted(range(len(names)), key=lambda place: weights[place], reverse=True)


class Addresses:
    """Chooses one of some addresses, by their names, for each call."""

    def __init__(self, names: Sequence[str]):
        self._names = names
        self._homes: dict[bytes, int] = {}
        self._calls = [0.0] * len(names)

    def choose(self, conversation: bytes, loads: Sequence[Load]) -> int | None:
        """Return the place of the address for a call of a conversation, and count the call; None where no address is open."""
        places = [place for place, load in enumerate(loads) if load.is_open]
        if not places:
            return None
        mean = (sum(self._calls[place] for place in places) + 1) / len(places)
        most = MANY * (sum(loads[place].flying for place in places) + 1) / len(places) + SPARE_FLYING
        free = {place for place in places if loads[place].flying < most}
        home = self._homes.get(conversation, -1)
        if home not in free or self._calls[home] >= (1 + ABOVE) * mean + SPARE:
            home = self._home(conversation, {place for place in free if self._calls[place] < mean} or free)
        self._count(home)
        return home

    def _home(self, conversation: bytes, places: Container[int]) -> int:
        """Return the first of some addresses in the order of a conversation, and keep it."""
        if len(self._homes) >= MOST_KNOWN:
            del self._homes[next(iter(self._homes))]
        home = next(place for place in order_of(conversation, self._names) if place in places)
        self._homes[conversation] = home
        return home

    def _count(self, place: int) -> None:
        self._calls[place] += 1
        if sum(self._calls) > 2 * LATEST * len(self._calls):
            self._calls = [calls / 2 for calls in self._calls]
