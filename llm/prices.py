"""Prices of models, from a table in a file and tables of the user, and the cost of tokens as providers bill them.

A price has four parts: tokens in, tokens out, tokens in that the server read from its prompt cache, and the share of all these
that a call of a batch costs. Thinking is billed as tokens out.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from parley.llm.backends import split_spec
from parley.llm.errors import UserError
from parley.llm.request import BATCH, CACHED, NOTHING, Reply, Usage, served_by, total


class Account(NamedTuple):
    """Tokens of one kind are billed alike: those of one voice, one model that replied, and one rate.

    `served` is the model that replied, where it is not the one with which the run began. `cached`: tokens in, from the prompt
    cache of the server. `batch`: calls of a batch.
    """

    voice: str = ""
    served: str = ""
    cached: bool = False
    batch: bool = False


class Price(NamedTuple):
    """US dollars per million tokens in and out.

    `cached` is that of tokens in from the prompt cache; None: as other tokens in. `batch` is the share of these prices that a
    call of a batch costs.
    """

    prompt: float
    completion: float
    cached: float | None = None
    batch: float = 1.0

    @property
    def in_and_out(self) -> float:
        """The sum of the prices of tokens in and out, to compare the prices of models."""
        return self.prompt + self.completion

    @property
    def numbers(self) -> list[float]:
        """The numbers of the price, as in a table of prices."""
        if (self.cached, self.batch) == (None, 1.0):
            return [self.prompt, self.completion]
        return [self.prompt, self.completion, self.prompt if self.cached is None else self.cached, self.batch]

    def of(self, usage: Usage, account: Account = Account()) -> float:  # noqa: B008  a constant
        """Return the cost of tokens: 2 million prompt tokens at 0.5 cost 1.0."""
        prompt = self.cached if account.cached and self.cached is not None else self.prompt
        cost = (usage.prompt_tokens * prompt + usage.completion_tokens * self.completion) / 1e6
        return cost * self.batch if account.batch else cost


FREE = Price(0.0, 0.0)
SERVED_BY = ("openai", "litellm")
"""The backends whose models cost what a provider takes."""
Prices = Mapping[str, Price | None]
"""The price of each voice of a run ("" is its first model); None where it is not known."""
UNPRICED: Prices = MappingProxyType({})


class PriceList(dict[str, Price | None]):
    """The price of each voice, and in `models` that of each model by name, for replies that another model gave."""

    def __init__(self, prices: Prices, models: Mapping[str, Price] = MappingProxyType({})):
        super().__init__(prices)
        self.models = dict(models)

    def __reduce__(self) -> tuple[type[PriceList], tuple[dict[str, Price | None], dict[str, Price]]]:
        return PriceList, (dict(self), self.models)

    def known(self) -> PriceList:
        """Return the list without the voices whose price is not known."""
        return PriceList({voice: price for voice, price in self.items() if price}, self.models)


def price_for(prices: Prices, account: Account) -> Price | None:
    """Return the price of an account: of the model that replied where it is listed, else of the voice; None where unknown."""
    listed = find_price(prices.models, account.served) if isinstance(prices, PriceList) and account.served else None
    return listed or prices.get(account.voice)


def cost_of(used: Mapping[Account, Usage], prices: Prices) -> float:
    """Return the cost of tokens; an account without a price costs nothing."""
    return sum((price_for(prices, account) or FREE).of(usage, account) for account, usage in used.items())


def bill(voice: str, reply: Reply) -> dict[Account, Usage]:
    """Return the tokens of a reply by account: of 100 tokens in, 80 may be from the prompt cache."""
    served, batch = served_by(reply.notes), bool(reply.notes.get(BATCH))
    cached = min(reply.notes.get(CACHED, 0), reply.usage.prompt_tokens)
    prompt, completion = reply.usage
    accounts = {Account(voice, served, False, batch): Usage(prompt - cached, completion)}
    return accounts | ({Account(voice, served, True, batch): Usage(cached, 0)} if cached else {})


def add_up(bills: Iterable[Mapping[Account, Usage]]) -> dict[Account, Usage]:
    """Return the sum of bills by account."""
    found = defaultdict[Account, list[Usage]](list)
    for each in bills:
        for account, usage in each.items():
            found[account].append(usage)
    return {account: total(usages) for account, usages in found.items()}


TABLE = Path(__file__).with_name("prices.toml")
DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")


def find_price(table: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of a model in a table. A snapshot (`gpt-4o-2024-08-06`) costs what its model does."""
    return next((table[name] for name in (model, DATED.sub("", model)) if name in table), None)


def price_of(spec: str, own_file: Path | None = None) -> Price | None:
    """Return the price of a spec's model, None when it is unknown.

    `own_file` is a user's file, which counts first, for a model at any address. The built-in table is for the OpenAI API only,
    not for another address in the spec or in $OPENAI_BASE_URL. Errors: UserError for a file that cannot be read.
    """
    return find_price(_table_for(spec, own_file), split_spec(spec).after) if is_served(spec) else None


def is_served(spec: str) -> bool:
    """Does a spec name a model behind an endpoint?"""
    return split_spec(spec).name in SERVED_BY


def is_batch(spec: str) -> bool:
    """Are the calls of a spec's model sent in batches of its provider, at the price of batches?

    >>> is_batch("openai:gpt-4o-mini,batch=yes"), is_batch("openai:gpt-4o-mini")
    (True, False)
    """
    return split_spec(spec).name == "openai" and split_spec(spec).options.get("batch") == "yes"


def _table_for(spec: str, own_file: Path | None) -> dict[str, Price]:
    """Return the prices that hold at the address of a spec: those of the user's file come first."""
    listed = read_prices(own_file) if own_file else {}
    name, _, options = split_spec(spec)
    if name == "openai" and "base_url" not in options and not os.environ.get("OPENAI_BASE_URL"):
        listed = read_prices(TABLE) | listed
    return listed


def load_prices(
    first: str, voices: Mapping[str, str], own_file: Path | None = None, given: Price | None = None
) -> PriceList:
    """Return the price of each voice, "" for the first model: None where it is unknown, 0 for a local model.

    `given` is the price of the only model behind an endpoint (or of the only model). Errors: UserError where there are several.
    """
    specs = {"": first, **voices}
    served = {spec for spec in specs.values() if is_served(spec)}
    if given and (served or len(specs) > 1) and len(served) != 1:
        raise UserError(
            "--price gives the price of one model, but several are used: write their prices into a file, and give --prices FILE"
        )

    def price(spec: str) -> Price | None:
        if given and spec in (served or {first}):
            return given
        return price_of(spec, own_file) if spec in served else FREE

    tables = [] if given else [_table_for(spec, own_file) for spec in served]
    models = {name: listed for table in tables for name, listed in table.items()}
    return PriceList({voice: price(spec) for voice, spec in specs.items()}, models)


def dollars(amount: float) -> str:
    """Return an amount of US dollars in words, with cents or two significant digits.

    >>> [dollars(amount) for amount in (0, 0.00312, 0.3, 7.856, 152.4, 12345)]
    ['$0', '$0.0031', '$0.30', '$7.86', '$152', '$12,345']
    """
    if not amount or amount >= 100:
        return f"${amount:,.0f}"
    return f"${amount:.{max(2, 1 - math.floor(math.log10(amount)))}f}"


def cost_by_model(used: Mapping[Account, Usage], prices: Prices) -> str:
    """Return costs in words: `$0.31 (labour $0.30, at $2 and $8 per million tokens in and out; no price for green)`.

    Behind them is what the same calls would have cost without a prompt cache. Empty where no model has a price.
    """
    voices = dict.fromkeys(account.voice for account in used)
    used_by = {voice: {each: usage for each, usage in used.items() if each.voice == voice} for voice in voices}
    priced = {voice: price for voice in voices if (price := prices.get(voice))}
    paid = {voice: price for voice, price in priced.items() if price != FREE}
    if not paid:
        return ""
    several = len(voices) > 1
    parts = [
        (f"{voice or 'the others'} {dollars(cost_of(used_by[voice], prices))}, " if several else "")
        + _rates(price, used_by[voice], prices)
        for voice, price in paid.items()
    ]
    parts += [f"no price is known for {voice or 'the others'}" for voice in voices if voice not in priced]
    cost, uncached = cost_of(used, prices), cost_of(without_cache(used), prices)
    details = "; ".join(parts)
    more = f"; without prompt caching {dollars(uncached)}" if uncached > cost else ""
    return dollars(cost) + (f" ({details})" if several else f", {details}") + more


def without_cache(used: Mapping[Account, Usage]) -> dict[Account, Usage]:
    """Return the same tokens as if none had been in a prompt cache."""
    return add_up([{account._replace(cached=False): usage} for account, usage in used.items()])


def _rates(price: Price, used: Mapping[Account, Usage], prices: Prices) -> str:
    """Return the prices of the accounts of one voice in words."""
    words = f"at ${price.prompt:g} and ${price.completion:g} per million tokens in and out"
    cached = total([NOTHING, *(usage for account, usage in used.items() if account.cached)]).prompt_tokens
    if cached and price.cached is not None:
        read = sum(usage.prompt_tokens for usage in used.values())
        words += f", ${price.cached:g} for the {cached / read:.0%} of tokens in from the prompt cache"
    if any(account.batch for account in used):
        words += f", in batches {price.batch:.0%} of that"
    for served in dict.fromkeys(account.served for account in used):
        other = price_for(prices, Account(served=served)) if served else None
        if other and other != price:
            words += f", {served} at ${other.prompt:g} and ${other.completion:g}"
    return words


def read_prices(path: Path) -> dict[str, Price]:
    """Read a table of prices: `model = [in, out, cached, batch]`, the last two optional. Errors: UserError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return {str(name): price_from(numbers) for name, numbers in table.items()}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the prices in {path}: {error}") from error


def price_from(numbers: object) -> Price:
    """Return the price of a list `[in, out, cached, batch]`. Errors: ValueError.

    >>> price_from([2.5, 10]), price_from([2.5, 10, 1.25, 0.5]).batch
    (Price(prompt=2.5, completion=10.0, cached=None, batch=1.0), 0.5)
    """
    if not isinstance(numbers, list) or not 2 <= len(numbers) <= 4 or not all(map(_is_amount, numbers)):
        raise ValueError(
            f"{numbers!r} is not [in, out], [in, out, cached] or [in, out, cached, batch] with numbers of 0 or more: prices in "
            "US dollars per million tokens, and the share of these prices in a batch, such as 0.5"
        )
    return Price(*map(float, numbers))


def _is_amount(number: object) -> bool:
    return type(number) in (int, float) and 0 <= float(str(number)) < math.inf
