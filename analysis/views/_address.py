"""The addresses of the page: `/?run=runs/a`, `/?compare=runs/a&compare=runs/b`. A folder may have any name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import parse_qs, quote, urlencode

import solara

COMPARE = "?compare="


def encoded(place: str) -> str:
    """Return a place as the end of an address. Of `compare_place` it is one already."""
    key, _, value = place.removeprefix("?").partition("=")
    if not place or place.startswith(COMPARE):
        return place
    return f"?{urlencode({key: value}, quote_via=quote, safe='/')}" if value else place


def run_place(folder: object) -> str:
    """Return the place of a run."""
    return f"?run={folder}"


def branch_place(folder: object) -> str:
    """Return the place of the form of a branch."""
    return f"?branch={folder}"


def compare_place(folders: Sequence[object]) -> str:
    """Return the place of a comparison. The first run is the one with which the others are compared.

    >>> compare_place(["runs/a", "runs/b&c"])
    '?compare=runs/a&compare=runs/b%26c'
    """
    return f"?{urlencode([('compare', str(folder)) for folder in folders], quote_via=quote, safe='/')}"


def named_in(search: str, key: str) -> list[str]:
    """Return the values of a key of an address."""
    return parse_qs(search, keep_blank_values=True).get(key, [])


def use_go() -> Callable[[str], None]:
    """Return a function that opens a place of the page. (A hook of Solara.)"""
    router = solara.use_router()
    return lambda place: router.push(f"/{encoded(place)}")
