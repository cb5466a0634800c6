"""A budget in calls, tokens and money. When it is spent, the run stops and keeps every reply that was paid for.

Tokens and cost are known only after a reply, so those of each request are estimated before it is sent, and booked until its
reply is there. Then the calls in flight exceed no limit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from parley.llm.errors import BudgetSpent
from parley.llm.prices import FREE, Account, Prices, add_up, bill, cost_of, dollars, price_for, without_cache
from parley.llm.request import Backend, Reply, Request, Usage, Wrapper, check_replies, total

REPEATED = "repeated"
"""The note of a reply that counts its calls besides the last one."""
UNCOUNTED = "uncounted"
"""The note of a reply whose tokens the server did not report."""
LETTERS = 4
"""Characters of a token, before any reply has said how many tokens a request takes."""
EPSILON = 1e-9
"""The part of a limit by which rounding of sums may exceed it."""


class Spending(NamedTuple):
    """Tokens and US dollars of one request, as estimated or as used."""

    tokens: float = 0.0
    cost: float = 0.0


NOTHING_BOOKED = Spending()


class Budget(NamedTuple):
    """The limits of a run folder, over all its starts. None is no limit; a limit on cost needs prices.

    `keep_going`: go on even if almost no reply can be read (model/missing_replies.py). `prices` has one price for each voice of
    a run with several models, and that of the first model under ""; a voice without a price costs nothing.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Prices = MappingProxyType({})
    keep_going: bool = False

    def money(self, used: Mapping[Account, Usage]) -> float:
        """Return the cost of tokens by account."""
        return cost_of(used, self.prices)


NO_LIMIT = Budget()


class Ledger:
    """The part of a budget that is spent, by one run or by several that share it (model/sweep).

    `measures`: are the tokens or the cost limited, so that the spending of each request has to be estimated?
    """

    def __init__(self, budget: Budget = NO_LIMIT):
        self.budget = budget
        self.calls, self.tokens, self.cost = 0, 0, 0.0
        self.booked = Spending()
        self.measures = (budget.tokens, budget.cost) != (None, None)
        self._uncountable, self._short = "", ""

    def reserve(self, wanted: Sequence[Spending]) -> int:
        """Book calls before they are made, with what each will spend; return how many of the first ones are allowed."""
        if self._uncountable or self._reached():
            return 0
        most = len(wanted) if self.budget.calls is None else min(len(wanted), self.budget.calls - self.calls)
        allowed = 0
        while allowed < most and self._has_room(wanted[allowed]):
            self._book(wanted[allowed])
            allowed += 1
        self.calls += allowed
        return allowed

    def spend(self, calls: int, tokens: int, cost: float, booked: Spending = NOTHING_BOOKED) -> None:
        """Count calls that were not booked, and the tokens and cost of all. booked: what `reserve` had booked for them."""
        self.calls += calls
        self.tokens += tokens
        self.cost += cost
        self._book(Spending(-booked.tokens, -booked.cost))

    def miss(self, priced: bool) -> None:
        """Note that a server reported no tokens: no limit on tokens can hold, and none on cost where they have a price."""
        if self.budget.tokens is not None:
            self._uncountable = f"--max-tokens {self.budget.tokens}"
        elif self.budget.cost is not None and priced:
            self._uncountable = f"--max-cost {self.budget.cost}"

    def describe(self) -> str:
        """Return the line for the user when no more is allowed."""
        if self._uncountable:
            return (
                f"this server does not report token use, so {self._uncountable} cannot work. All {self.calls} calls are saved: "
                f"repeat the command with --max-calls instead to continue"
            )
        spent = f"{self.calls:,} calls, {self.tokens:,} tokens" + (f", cost {dollars(self.cost)}" if self.cost else "")
        return (
            f"the budget {self._reached() or self._short} is spent ({spent}); "
            "all replies are saved: repeat the command with a higher limit to continue"
        )

    def _book(self, more: Spending) -> None:
        self.booked = Spending(self.booked.tokens + more.tokens, self.booked.cost + more.cost)

    def _has_room(self, more: Spending) -> bool:
        """Return whether a call fits into what is left; one that is expected to spend nothing always does."""
        for name in ("tokens", "cost") if any(more) else ():
            limit, spent = getattr(self.budget, name), getattr(self, name) + getattr(self.booked, name)
            if limit is not None and spent + getattr(more, name) > limit * (1 + EPSILON):
                self._short = f"--max-{name} {limit}"
                return False
        return True

    def _reached(self) -> str:
        """Return the limit that is reached, as on the command line; "" when none is."""
        for name in ("calls", "tokens", "cost"):
            limit = getattr(self.budget, name)
            if limit is not None and getattr(self, name) >= limit:
                return f"--max-{name} {limit}"
        return ""


class SharedBudget(NamedTuple):
    """What several models may spend together: the budget of each, with its prices, by spec; and their common ledger."""

    budgets: Mapping[str, Budget] = MappingProxyType({})
    ledger: Ledger | None = None

    def of(self, spec: str) -> Budget:
        """Return the budget of a model; a model that is not listed costs nothing."""
        return self.budgets.get(spec, NO_LIMIT)


UNLIMITED = SharedBudget()


class Forecast:
    """Expects what a request will spend: the most it can, times the part that replies of its voice and purpose used so far.

    The most is four characters of the prompt a token, and a reply of `max_tokens`, all at full price. So a prompt cache, short
    answers and long thoughts all show in that part.
    """

    def __init__(self, prices: Prices):
        self.prices = prices
        self._used: dict[tuple[str, str], Spending] = {}
        self._most: dict[tuple[str, str], Spending] = {}

    def knows(self, request: Request) -> bool:
        """Has a request of this voice and purpose been answered?"""
        return (request.voice, request.purpose) in self._used

    def expect(self, request: Request) -> Spending:
        """Return what a request will spend: the most, before any reply of its kind is known."""
        kind, most = (request.voice, request.purpose), self._at_most(request)
        if kind not in self._used:
            return most
        parts = zip(most, self._used[kind], self._most[kind], strict=True)
        return Spending(*(each * used / bound if bound else 0.0 for each, used, bound in parts))

    def learn(self, request: Request, used: Spending) -> None:
        """Take in what a request has spent."""
        kind = request.voice, request.purpose
        for sums, more in ((self._used, used), (self._most, self._at_most(request))):
            before = sums.get(kind, Spending())
            sums[kind] = Spending(before.tokens + more.tokens, before.cost + more.cost)

    def _at_most(self, request: Request) -> Spending:
        prompt = sum(len(message.content) for message in request.messages) // LETTERS
        usage = Usage(prompt, request.sampling.max_tokens)
        return Spending(sum(usage), (price_for(self.prices, Account(request.voice)) or FREE).of(usage))


class Limits(Wrapper):
    """Counts calls and tokens, and stops at the limits of its own ledger or of a shared one.

    Requests that do not fit wait while others are in flight, which may use less than was booked for them. Before the first reply
    of a kind (`Forecast`), at least one request is sent. Only repeated calls of a network backend exceed the limit on calls.
    With a batch backend a repeated call (llm/retry.py) counts once, with its last outcome. Under a limit on tokens or cost, the
    first reply without a token count is the last one, because further replies could not be counted.
    """

    def __init__(self, inner: Backend, budget: Budget = NO_LIMIT, ledger: Ledger | None = None):
        super().__init__(inner)
        self.budget, self.ledger = budget, ledger or Ledger(budget)
        self.calls = 0
        self.used: dict[Account, Usage] = {}
        self._forecast = Forecast(budget.prices)
        self._booked: dict[Request, deque[Spending]] = defaultdict(deque)
        self._held: deque[Request] = deque()
        self._flying = 0

    @property
    def usage(self) -> Usage:
        """Tokens so far, of all models."""
        return total(self.used.values())

    @property
    def cost(self) -> float:
        """Money spent so far."""
        return self.budget.money(self.used)

    @property
    def uncached_cost(self) -> float:
        """Money that the same calls would have cost without a prompt cache."""
        return self.budget.money(without_cache(self.used))

    def charge(self, calls: int, used: Mapping[Account, Usage], booked: Spending = NOTHING_BOOKED) -> None:
        """Count calls, and tokens by account: of earlier starts, or of calls that were booked now."""
        self.calls += calls
        self.used = add_up([self.used, used])
        self.ledger.spend(calls, sum(map(sum, used.values())), self.budget.money(used), booked)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the replies. Where the budget allows not all at once, the rest is asked when the first replies are counted."""
        replies: list[Reply] = []
        while len(replies) < len(requests):
            rest = requests[len(replies) :]
            if not (allowed := self._reserve(rest)):
                raise BudgetSpent(self.ledger.describe(), tuple(replies))
            landed = check_replies(self.inner.complete(rest[:allowed]), allowed)
            self._count(zip(rest, landed, strict=False))
            replies += landed
        return replies

    def send(self, requests: Sequence[Request]) -> None:
        """Send what the budget allows now; the rest waits. `receive` raises BudgetSpent when no more of it can be sent."""
        self._held.extend(requests)
        self._send_held()

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        if wait and self._held:
            self._send_held()
        if self._held and not self._flying:
            raise BudgetSpent(self.ledger.describe(), ())
        landed = super().receive(wait)
        self._flying -= len(landed)
        self._count(landed)
        return landed

    def _send_held(self) -> None:
        allowed = self._reserve(self._held)
        batch = [self._held.popleft() for _ in range(allowed)]
        self._flying += allowed
        if batch:
            super().send(batch)

    def _count(self, landed: Iterable[tuple[Request, Reply]]) -> None:
        """Count the tokens of replies, and the repeated calls that a network backend notes."""
        repeated, bills, uncounted, booked = 0, [], set(), Spending()
        for request, reply in landed:
            repeated += reply.notes.get(REPEATED, 0)
            bills.append(used := bill(request.voice, reply))
            if self.ledger.measures:
                released = self._released(request)
                booked = Spending(booked.tokens + released.tokens, booked.cost + released.cost)
                self._forecast.learn(request, Spending(sum(map(sum, used.values())), self.budget.money(used)))
            if reply.notes.get(UNCOUNTED):
                uncounted.add(request.voice)
        if bills:
            self.charge(repeated, add_up(bills), booked)
        if uncounted:
            self.ledger.miss(priced=any((self.budget.prices.get(voice) or FREE) != FREE for voice in uncounted))

    def _released(self, request: Request) -> Spending:
        """Return what was booked for a request that has been answered."""
        spending = self._booked[request].popleft()
        if not self._booked[request]:
            del self._booked[request]
        return spending

    def _reserve(self, wanted: Sequence[Request]) -> int:
        """Book what fits of the requests, with what each will spend; return how many of the first ones fit."""
        expected = (
            [self._forecast.expect(each) for each in wanted] if self.ledger.measures else [Spending()] * len(wanted)
        )
        allowed = self.ledger.reserve(expected)
        if not allowed and wanted and not self._flying and not self._forecast.knows(wanted[0]):
            expected[0] = Spending()  # how much a request of its kind spends is found out with one
            allowed = self.ledger.reserve(expected[:1])
        if self.ledger.measures:
            for request, spending in zip(wanted, expected[:allowed], strict=False):
                self._booked[request].append(spending)
        self.calls += allowed
        return allowed
