"""What a model costs: a table in a file, and files like it that a user brings."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from parley.llm.backends import split_spec
from parley.llm.errors import UserError
from parley.llm.limits import FREE, Price
from parley.llm.request import Usage

TABLE = Path(__file__).with_name("prices.toml")
Prices = Mapping[str, Price | None]
"""The price of each voice of a run (\"\" is its first model); None where it is not known."""
UNPRICED: Prices = MappingProxyType({})
DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")


def price_of(spec: str, own: Path | None = None) -> Price | None:
    """The price of a spec's model, None when it is not known. A snapshot (`gpt-4o-2024-08-06`) costs what its model does.

    `own` is a user's file, which counts first, for a model at any address; the table in the box is for the OpenAI API only, not
    for another address, in the spec or in $OPENAI_BASE_URL.
    Errors: UserError for a file that cannot be read.
    """
    backend, model, options = split_spec(spec)
    if backend != "openai":
        return None
    tables = [read(own)] if own else []
    tables += [] if "base_url" in options or os.environ.get("OPENAI_BASE_URL") else [read(TABLE)]
    names = (model, DATED.sub("", model))
    return next((table[name] for table in tables for name in names if name in table), None)


def tariff(
    first: str, voices: Mapping[str, str], own: Path | None = None, given: Price | None = None
) -> dict[str, Price | None]:
    """The price of each voice, "" for all that have no model of their own: None where it is not known, 0 for a local model.

    `given` is that of the one model behind an endpoint (or of the only model). Errors: UserError where there are several.
    """
    specs = {"": first, **voices}
    served = {spec for spec in specs.values() if split_spec(spec)[0] == "openai"}
    if given and (served or len(specs) > 1) and len(served) != 1:
        raise UserError(
            "--price is the price of one model behind an endpoint: write a table for several (--prices FILE)"
        )
    return {voice: _of(spec, spec in (served or {first}), own, given) for voice, spec in specs.items()}


def _of(spec: str, paid: bool, own: Path | None, given: Price | None) -> Price | None:
    if given and paid:
        return given
    return price_of(spec, own) if split_spec(spec)[0] == "openai" else FREE


def bill(used: Mapping[str, Usage], prices: Prices, digits: int = 4) -> str:
    """What tokens cost, in words: `0.31 (republican 0.3, at 2 and 8 per million tokens in and out; no price for democrat)`.

    Empty where nothing has a price.
    """
    priced = {voice: price for voice in used if (price := prices.get(voice))}
    paid = {voice: price for voice, price in priced.items() if price != FREE}
    if not paid:
        return ""
    costs = {voice: price.of(used[voice]) for voice, price in paid.items()}
    several = len(used) > 1
    parts = [
        (f"{voice or 'the others'} {costs[voice]:.{digits}g}, " if several else "")
        + f"at {price.prompt:g} and {price.completion:g} per million tokens in and out"
        for voice, price in paid.items()
    ]
    parts += [f"no price is known for {voice or 'the others'}" for voice in used if voice not in priced]
    told = "; ".join(parts)
    return f"{sum(costs.values()):.{digits}g}" + (f" ({told})" if several else f", {told}")


def read(path: Path) -> dict[str, Price]:
    """A table of prices: `model = [in, out]`, money per million tokens. Errors: UserError."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        return {str(name): _price(pair) for name, pair in told.items()}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the prices in {path}: {error}") from error


def _price(pair: object) -> Price:
    if not isinstance(pair, list) or len(pair) != 2 or not all(type(one) in (int, float) and one >= 0 for one in pair):
        raise ValueError(f"{pair!r} is not [in, out], two numbers of 0 or more")
    return Price(float(pair[0]), float(pair[1]))
