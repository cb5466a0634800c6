"""A budget in calls and tokens. When it is spent the run stops; what was paid for is kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from llm.errors import BudgetSpent
from llm.request import Backend, Reply, Request


class Limits:
    """Counts calls and tokens and stops at a total. None is no limit.

    `calls` and `tokens` spent before (earlier sittings of the same run folder) count too. Tokens are known only after
    the reply, so a batch may overshoot the token limit by itself; the call limit is never overshot.
    """

    def __init__(self, inner: Backend, max_calls: int | None = None, max_tokens: int | None = None):
        self.inner, self.max_calls, self.max_tokens = inner, max_calls, max_tokens
        self.calls = self.tokens = 0
        self._lock = threading.Lock()

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.inner.identity

    @property
    def in_flight(self) -> int:
        return self.inner.in_flight

    def charge(self, calls: int, tokens: int) -> None:
        """Count what was spent before."""
        self.calls, self.tokens = self.calls + calls, self.tokens + tokens

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        allowed = self._reserve(len(requests))
        replies = self.inner.complete(requests[:allowed]) if allowed else []
        with self._lock:
            self.tokens += sum(sum(reply.usage) for reply in replies)
        if allowed < len(requests):
            raise BudgetSpent(self._what(), tuple(replies))
        return replies

    def _reserve(self, wanted: int) -> int:
        with self._lock:
            if self.max_tokens is not None and self.tokens >= self.max_tokens:
                return 0
            allowed = wanted if self.max_calls is None else min(wanted, self.max_calls - self.calls)
            self.calls += max(allowed, 0)
            return max(allowed, 0)

    def _what(self) -> str:
        tokens_spent = self.max_tokens is not None and self.tokens >= self.max_tokens
        which = f"--max-tokens {self.max_tokens}" if tokens_spent else f"--max-calls {self.max_calls}"
        return (
            f"the budget {which} is spent ({self.calls} calls, {self.tokens} tokens); "
            "everything is kept: raise it and run the same command again to go on"
        )
