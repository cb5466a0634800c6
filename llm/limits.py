"""A budget in calls, tokens and money. When it is spent the run stops; what was paid for is kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from llm.errors import BudgetSpent
from llm.request import Backend, Reply, Request, Usage, Wrapper, checked


class Price(NamedTuple):
    """Money per million tokens, in whatever currency the limit is in."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> float:
        """What the tokens cost: 2 million prompt tokens at 0.5 cost 1.0."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6


class Budget(NamedTuple):
    """Totals of a run folder, over all its sittings. None is no limit; a limit on cost needs a price."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price: Price = Price(0.0, 0.0)


NO_LIMIT = Budget()


class Limits(Wrapper):
    """Counts calls and tokens and stops at the budget.

    Tokens are known only after the reply, so a batch may overshoot the limits on tokens and cost by itself; the limit on
    calls is never overshot, where a call that had to be repeated (llm/retry.py) counts once, with its last outcome.
    """

    def __init__(self, inner: Backend, budget: Budget = NO_LIMIT):
        super().__init__(inner)
        self.budget = budget
        self.calls, self.usage = 0, Usage()
        self._lock = threading.Lock()

    @property
    def cost(self) -> float:
        """Money spent so far."""
        return self.budget.price.of(self.usage)

    def charge(self, calls: int, usage: Usage) -> None:
        """Count what was spent in earlier sittings."""
        self.calls += calls
        self._add([usage])

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        allowed = self._reserve(len(requests))
        replies = checked(self.inner.complete(requests[:allowed]), allowed) if allowed else []
        with self._lock:
            self._add([reply.usage for reply in replies])
        if allowed < len(requests):
            raise BudgetSpent(self._what(), tuple(replies))
        return replies

    def _add(self, usages: Sequence[Usage]) -> None:
        prompts, completions = (sum(usage[place] for usage in usages) for place in (0, 1))
        self.usage = Usage(self.usage.prompt_tokens + prompts, self.usage.completion_tokens + completions)

    def _reserve(self, wanted: int) -> int:
        with self._lock:
            if self._spent():
                return 0
            allowed = wanted if self.budget.calls is None else min(wanted, self.budget.calls - self.calls)
            self.calls += allowed
            return allowed

    def _spent(self) -> str:
        """The limit that is reached, as it is given on the command line; empty when none is."""
        for name, used in (("calls", self.calls), ("tokens", sum(self.usage)), ("cost", self.cost)):
            limit = getattr(self.budget, name)
            if limit is not None and used >= limit:
                return f"--max-{name} {limit}"
        return ""

    def _what(self) -> str:
        spent = f"{self.calls} calls, {sum(self.usage)} tokens" + (f", cost {self.cost:.4g}" if self.cost else "")
        return (
            f"the budget {self._spent()} is spent ({spent}); "
            "everything is kept: raise it and run the same command again to go on"
        )
