"""What a model costs: a table in a file, and files like it that a user brings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from llm.backends import split_spec
from llm.errors import UserError
from llm.limits import Price

TABLE = Path(__file__).with_name("prices.toml")
DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")


def price_of(spec: str, own: Path | None = None) -> Price | None:
    """The price of a spec's model, None when it is not known. A snapshot (`gpt-4o-2024-08-06`) costs what its model does.

    `own` is a user's file, which counts first, for a model at any address; the table in the box is for the OpenAI API only.
    Errors: UserError for a file that cannot be read.
    """
    backend, model, options = split_spec(spec)
    if backend != "openai":
        return None
    tables = [read(own)] if own else []
    tables += [] if "base_url" in options else [read(TABLE)]
    names = (model, DATED.sub("", model))
    return next((table[name] for table in tables for name in names if name in table), None)


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
