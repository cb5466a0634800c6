"""Repeats requests whose failure is transient, a bounded number of times, with exponential pauses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from parley.llm.request import Backend, Reply, Request, Wrapper, check_replies


class Retry(Wrapper):
    """Makes up to `attempts` calls per request while its failure is transient; the last outcome counts.

    Pauses double from `pause` seconds; tests replace `sleep`. A network backend repeats calls by itself (`Network`).
    """

    def __init__(
        self, inner: Backend, attempts: int = 4, pause: float = 0.5, sleep: Callable[[float], object] = time.sleep
    ):
        super().__init__(inner)
        self.attempts, self.pause, self.sleep = attempts, pause, sleep

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = check_replies(self.inner.complete(requests), len(requests))
        for attempt in range(1, self.attempts):
            again = [index for index, reply in enumerate(replies) if reply.failure and reply.failure.transient]
            if not again:
                break
            self.sleep(self.pause * 2 ** (attempt - 1))
            for index, reply in zip(again, self.inner.complete([requests[index] for index in again]), strict=True):
                replies[index] = reply
        return replies
