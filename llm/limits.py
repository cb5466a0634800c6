"""A budget in calls, tokens and money. When it is spent the run stops; what was paid for is kept."""

from __future__ import annotations

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
REPEATED = "repeated"
"""The note by which a reply says how many calls it took beside the one that counts."""


class Limits(Wrapper):
    """Counts calls and tokens and stops at the budget.

    Tokens are known only after the reply, so a batch, or what is in flight, may overshoot the limits on tokens and cost by
    itself; the limit on calls is overshot only by calls that a network backend had to repeat. With a batch backend a repeated
    call (llm/retry.py) counts once, with its last outcome.
    """

    def __init__(self, inner: Backend, budget: Budget = NO_LIMIT):
        super().__init__(inner)
        self.budget = budget
        self.calls, self.usage = 0, Usage()
        self._flying, self._refused = 0, False

    @property
    def cost(self) -> float:
        """Money spent so far."""
        return self.budget.price.of(self.usage)

    def charge(self, calls: int, usage: Usage) -> None:
        """Count what was spent in earlier sittings."""
        self.calls += calls
        self._count([usage])

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        allowed = self._reserve(len(requests))
        replies = checked(self.inner.complete(requests[:allowed]), allowed) if allowed else []
        self._add(replies)
        if allowed < len(requests):
            raise BudgetSpent(self._what(), tuple(replies))
        return replies

    def send(self, requests: Sequence[Request]) -> None:
        """Send what the budget allows; `receive` says so when all of that has landed."""
        allowed = self._reserve(len(requests))
        self._refused |= allowed < len(requests)
        self._flying += allowed
        if allowed:
            super().send(requests[:allowed])

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        if self._refused and not self._flying:
            raise BudgetSpent(self._what(), ())
        landed = super().receive(wait)
        self._flying -= len(landed)
        self._add([reply for _, reply in landed])
        return landed

    def _add(self, replies: Sequence[Reply]) -> None:
        """Count what the replies took. A network backend notes how often it had to ask again: each time was a call."""
        self.calls += sum(reply.notes.get(REPEATED, 0) for reply in replies)
        self._count([reply.usage for reply in replies])

    def _count(self, usages: Sequence[Usage]) -> None:
        prompts, completions = (sum(usage[place] for usage in usages) for place in (0, 1))
        self.usage = Usage(self.usage.prompt_tokens + prompts, self.usage.completion_tokens + completions)

    def _reserve(self, wanted: int) -> int:
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
