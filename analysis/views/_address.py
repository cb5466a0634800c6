"""The addresses of the page: `/?run=runs/a`, `/?compare=runs/a&compare=runs/b`. A folder may have any name."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, quote, urlencode

import solara


def place_of(**named: object) -> str:
    """Return the place of the page that names these values: the end of its address.

    >>> place_of(compare=["runs/a", "runs/b&c"]), place_of(audit="oracle", topic="Ban cars?")
    ('?compare=runs/a&compare=runs/b%26c', '?audit=oracle&topic=Ban%20cars%3F')
    """
    return f"?{urlencode(named, doseq=True, quote_via=quote, safe='/')}"


def named_in(search: str, key: str) -> list[str]:
    """Return the values of a key of an address."""
    return parse_qs(search, keep_blank_values=True).get(key, [])


def use_go() -> Callable[[str], None]:
    """Return a function that opens a place of the page. (A hook of Solara.)"""
    router = solara.use_router()
    return lambda place: router.push(f"/{place}")
