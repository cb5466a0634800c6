"""Stand-ins that tests share."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable

import run  # noqa: F401  (`parley` is this checkout)
from parley.llm.backends.fake import Fake
from parley.llm.request import Reply, Request


def opinionated(request: Request) -> str:
    """Words, ratings and rankings that depend on all that was sent and on the seed, and on nothing else."""
    told = hashlib.sha256(repr((request.messages, request.seed)).encode()).digest()
    if request.purpose == "ranking":
        letters = re.findall(r"(?m)^([A-Z]): ", request.messages[-1].content)
        return " > ".join(random.Random(told).sample(letters, len(letters)))
    if request.answers:
        return request.answers[told[0] % len(request.answers)]
    return f"I have thought about it, and my point number {told[0]} is about case {told[1]}."


class Scrambled(Fake):
    """A network whose replies land one at a time, in an order drawn from `seed`.

    `order` holds the requests as they landed, `most` how many were on their way at once.
    """

    def __init__(self, source: Callable[[Request], str | Reply], in_flight: int, seed: int = 0):
        super().__init__(source, in_flight=in_flight)
        self.order: list[Request] = []
        self.most = 0
        self._draw = random.Random(seed)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        self.most = max(self.most, len(self._sent))
        self._sent.rotate(self._draw.randrange(len(self._sent)))
        landed = super().receive()
        self.order += [request for request, _ in landed]
        return landed
