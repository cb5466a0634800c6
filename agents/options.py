"""The options of what a preset names as NAME[,option=value...]: the fields of its dataclass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from llm.errors import UserError, unknown


def options_of(name: str, pairs: Iterable[str], kind: Any) -> dict[str, int | str]:
    """`["words=40"]` as {"words": 40}, by the fields of `kind`. Errors: UserError on an unknown option or a wrong value."""
    known = {field.name: str(field.type) for field in fields(kind) if field.init}
    return dict(_option(name, pair, known) for pair in pairs)


def _option(name: str, pair: str, known: dict[str, str]) -> tuple[str, int | str]:
    key, equals, value = pair.partition("=")
    if key not in known:
        raise unknown(f"option of {name}", key, known)
    if known[key] == "int" and not value.isdecimal():
        raise UserError(f"option {key} of {name} must be a whole number, not {value!r}")
    if not equals or not value:
        raise UserError(f"option {key} of {name}: write it as {key}=value")
    return key, int(value) if known[key] == "int" else value
