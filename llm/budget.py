"""A budget in calls, tokens and money. When it is spent, the run stops and keeps every reply that was paid for.

Prices of models come from a table in a file, and from tables of the user.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from parley.llm.backends import split_spec
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.request import NOTHING, Backend, Reply, Request, Usage, Wrapper, check_replies, total


class Price(NamedTuple):
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> float:
        """Return the cost of tokens: 2 million prompt tokens at 0.5 cost 1.0."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6


FREE = Price(0.0, 0.0)
Prices = Mapping[str, Price | None]
"""The price of each voice of a run ("" is its first model); None where it is not known."""
UNPRICED: Prices = MappingProxyType({})
REPEATED = "repeated"
"""The note of a reply that counts its calls besides the last one."""
UNCOUNTED = "uncounted"
"""The note of a reply whose tokens the server did not report."""


class Budget(NamedTuple):
    """The limits of a run folder, over all its starts. None is no limit; a limit on cost needs prices.

    `keep_going`: go on even if almost no reply can be read (model/missing_replies.py). `prices` has one price for each voice of
    a run with several models, and that of the first model under ""; a voice without a price costs nothing.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, Price] = MappingProxyType({})
    keep_going: bool = False

    def money(self, used: Mapping[str, Usage]) -> float:
        """Return the cost of tokens by voice."""
        return sum(self.prices.get(voice, FREE).of(usage) for voice, usage in used.items())


NO_LIMIT = Budget()


class Ledger:
    """The part of a budget that is spent, by one run or by several that share it (model/sweep)."""

    def __init__(self, budget: Budget = NO_LIMIT):
        self.budget = budget
        self.calls, self.tokens, self.cost = 0, 0, 0.0
        self._uncountable = ""

    def reserve(self, wanted: int) -> int:
        """Book calls before they are made; return how many of them are allowed."""
        if self._uncountable or self._reached():
            return 0
        allowed = wanted if self.budget.calls is None else min(wanted, self.budget.calls - self.calls)
        self.calls += allowed
        return allowed

    def spend(self, calls: int, tokens: int, cost: float) -> None:
        """Count calls that were not booked, and the tokens and cost of all."""
        self.calls += calls
        self.tokens += tokens
        self.cost += cost

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
            f"the budget {self._reached()} is spent ({spent}); "
            "all replies are saved: repeat the command with a higher limit to continue"
        )

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


class Limits(Wrapper):
    """Counts calls and tokens, and stops at the limits of its own ledger or of a shared one.

    Tokens are known only after the reply, so a batch, or the requests in flight, may exceed the limits on tokens and cost. Only
    repeated calls of a network backend exceed the limit on calls. With a batch backend a repeated call (llm/retry.py) counts
    once, with its last outcome. Under a limit on tokens or cost, the first reply without a token count is the last one, because
    further replies could not be counted.
    """

    def __init__(self, inner: Backend, budget: Budget = NO_LIMIT, ledger: Ledger | None = None):
        super().__init__(inner)
        self.budget, self.ledger = budget, ledger or Ledger(budget)
        self.calls = 0
        self.used: dict[str, Usage] = {}
        self._flying, self._refused = 0, False

    @property
    def usage(self) -> Usage:
        """Tokens so far, of all models."""
        return total(self.used.values())

    @property
    def cost(self) -> float:
        """Money spent so far."""
        return self.budget.money(self.used)

    def charge(self, calls: int, used: Mapping[str, Usage]) -> None:
        """Count calls, and tokens by voice: of earlier starts, or of calls that were booked now."""
        self.calls += calls
        for voice, usage in used.items():
            self.used[voice] = total([self.used.get(voice, NOTHING), usage])
        self.ledger.spend(calls, sum(map(sum, used.values())), self.budget.money(used))

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        allowed = self._reserve(len(requests))
        replies = check_replies(self.inner.complete(requests[:allowed]), allowed) if allowed else []
        self._count(zip(requests, replies, strict=False))
        if allowed < len(requests):
            raise BudgetSpent(self.ledger.describe(), tuple(replies))
        return replies

    def send(self, requests: Sequence[Request]) -> None:
        """Send what the budget allows; `receive` raises BudgetSpent when all of that has landed."""
        allowed = self._reserve(len(requests))
        self._refused |= allowed < len(requests)
        self._flying += allowed
        if allowed:
            super().send(requests[:allowed])

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        if self._refused and not self._flying:
            raise BudgetSpent(self.ledger.describe(), ())
        landed = super().receive(wait)
        self._flying -= len(landed)
        self._count(landed)
        return landed

    def _count(self, landed: Iterable[tuple[Request, Reply]]) -> None:
        """Count the tokens of replies, and the repeated calls that a network backend notes."""
        repeated, used, uncounted = 0, defaultdict(list), set()
        for request, reply in landed:
            repeated += reply.notes.get(REPEATED, 0)
            used[request.voice].append(reply.usage)
            if reply.notes.get(UNCOUNTED):
                uncounted.add(request.voice)
        if used:
            self.charge(repeated, {voice: total(usages) for voice, usages in used.items()})
        if uncounted:
            self.ledger.miss(priced=any(self.budget.prices.get(voice, FREE) != FREE for voice in uncounted))

    def _reserve(self, wanted: int) -> int:
        allowed = self.ledger.reserve(wanted)
        self.calls += allowed
        return allowed


TABLE = Path(__file__).with_name("prices.toml")
DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")


def price_of(spec: str, own_file: Path | None = None) -> Price | None:
    """Return the price of a spec's model, None when it is unknown. A snapshot (`gpt-4o-2024-08-06`) costs what its model does.

    `own_file` is a user's file, which counts first, for a model at any address. The built-in table is for the OpenAI API only,
    not for another address in the spec or in $OPENAI_BASE_URL. Errors: UserError for a file that cannot be read.
    """
    backend, model, options = split_spec(spec)
    if backend != "openai":
        return None
    tables = [read_prices(own_file)] if own_file else []
    if "base_url" not in options and not os.environ.get("OPENAI_BASE_URL"):
        tables.append(read_prices(TABLE))
    return next((table[name] for table in tables for name in (model, DATED.sub("", model)) if name in table), None)


def load_prices(
    first: str, voices: Mapping[str, str], own_file: Path | None = None, given: Price | None = None
) -> dict[str, Price | None]:
    """Return the price of each voice, "" for the first model: None where it is unknown, 0 for a local model.

    `given` is the price of the only model behind an endpoint (or of the only model). Errors: UserError where there are several.
    """
    specs = {"": first, **voices}
    served = {spec for spec in specs.values() if split_spec(spec).name == "openai"}
    if given and (served or len(specs) > 1) and len(served) != 1:
        raise UserError(
            "--price gives the price of one model, and several are used: write their prices into a file and give --prices FILE"
        )

    def price(spec: str) -> Price | None:
        if given and spec in (served or {first}):
            return given
        return price_of(spec, own_file) if spec in served else FREE

    return {voice: price(spec) for voice, spec in specs.items()}


def dollars(amount: float) -> str:
    """Return an amount of US dollars in words, with cents or two significant digits.

    >>> [dollars(amount) for amount in (0, 0.00312, 0.3, 7.856, 152.4, 12345)]
    ['$0', '$0.0031', '$0.30', '$7.86', '$152', '$12,345']
    """
    if not amount or amount >= 100:
        return f"${amount:,.0f}"
    return f"${amount:.{max(2, 1 - math.floor(math.log10(amount)))}f}"


def cost_by_model(used: Mapping[str, Usage], prices: Prices) -> str:
    """Return costs in words: `$0.31 (labour $0.30, at $2 and $8 per million tokens in and out; no price for green)`.

    Empty where no model has a price.
    """
    priced = {voice: price for voice in used if (price := prices.get(voice))}
    paid = {voice: price for voice, price in priced.items() if price != FREE}
    if not paid:
        return ""
    costs = {voice: price.of(used[voice]) for voice, price in paid.items()}
    several = len(used) > 1
    parts = [
        (f"{voice or 'the others'} {dollars(costs[voice])}, " if several else "")
        + f"at ${price.prompt:g} and ${price.completion:g} per million tokens in and out"
        for voice, price in paid.items()
    ]
    parts += [f"no price is known for {voice or 'the others'}" for voice in used if voice not in priced]
    details = "; ".join(parts)
    return dollars(sum(costs.values())) + (f" ({details})" if several else f", {details}")


def read_prices(path: Path) -> dict[str, Price]:
    """Read a table of prices: `model = [in, out]`, US dollars per million tokens. Errors: UserError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return {str(name): _price(pair) for name, pair in table.items()}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the prices in {path}: {error}") from error


def _price(pair: object) -> Price:
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or not all(type(each) in (int, float) and each >= 0 for each in pair)
    ):
        raise ValueError(f"{pair!r} is not [in, out], two numbers of 0 or more")
    return Price(float(pair[0]), float(pair[1]))
