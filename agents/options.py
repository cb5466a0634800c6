"""What a preset names as NAME[,option=value...]: a module of a folder, its dataclass made with the options."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from parley.llm.errors import UserError, unknown_name


def build_option(
    spec: str, what: str, package: str, method: str, known: Sequence[str], also: Sequence[str] = ()
) -> Any:
    """The one dataclass of `package`.NAME that has this method, with the options of the spec.

    `what` is said in errors, `also` are words that stand for something without a module.

    Errors: UserError on a name that is not known, an unknown option, a value that the dataclass refuses (ValueError).
    """
    name, *pairs = spec.split(",")
    if name not in known:
        raise unknown_name(what, name, [*also, *known])
    module = importlib.import_module(f"{package}.{name}")
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    kind = next(kind for kind in own if hasattr(kind, method))
    try:
        return kind(**options_of(name, pairs, kind))
    except ValueError as error:
        raise UserError(f"{what} {name}: {error}") from error


def options_of(name: str, pairs: Iterable[str], kind: Any) -> dict[str, int | str]:
    """`["words=40"]` as {"words": 40}, by the fields of `kind`. Errors: UserError on an unknown option or a wrong value."""
    known = {field.name: str(field.type) for field in fields(kind) if field.init}
    return dict(_option(name, pair, known) for pair in pairs)


def _option(name: str, pair: str, known: dict[str, str]) -> tuple[str, int | str]:
    key, equals, value = pair.partition("=")
    if key not in known:
        raise unknown_name(f"option of {name}", key, known)
    if known[key] == "int" and not value.isdecimal():
        raise UserError(f"option {key} of {name} must be a whole number, not {value!r}")
    if not equals or not value:
        raise UserError(f"option {key} of {name}: write it as {key}=value")
    return key, int(value) if known[key] == "int" else value
