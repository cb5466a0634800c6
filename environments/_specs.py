"""Options that are themselves a choice with options, `small_world,degree=6`: a module of a folder, and fields of its dataclass.

The folder is the registry: each of its modules (but for those with an underscore) defines one frozen dataclass of the module's
own, whose fields are whole numbers, numbers, words or true/false.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import Any, get_type_hints

_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


def names(folder: ModuleType) -> list[str]:
    """Every choice of a folder, sorted."""
    return sorted(one.name for one in pkgutil.iter_modules(folder.__path__) if not one.name.startswith("_"))


@cache
def opened(folder: ModuleType, spec: Any) -> Any:
    """What a spec names, NAME[,option=value...]; what is no text is the choice itself. Errors: ValueError on an unknown name,
    option or value.
    """
    if not isinstance(spec, str):
        return spec
    name, *pairs = [part.strip() for part in spec.split(",")]
    what = folder.__name__.rpartition(".")[2].removesuffix("s")
    if name not in names(folder):
        raise _unknown(what, name, names(folder))
    kind = _class(importlib.import_module(f"{folder.__name__}.{name}"))
    hints = get_type_hints(kind)
    known = {field.name: hints[field.name] for field in fields(kind)}
    options = dict(_option(name, pair, known) for pair in pairs)
    for one in fields(kind):
        if one.default is MISSING and one.name not in options:
            raise ValueError(f"{name} needs {one.name}: write {name},{one.name}=...")
    try:
        return kind(**options)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _class(module: ModuleType) -> Any:
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    return next(kind for kind in own if is_dataclass(kind))


def _option(name: str, pair: str, known: dict[str, type]) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in pair.partition("="))
    if key not in known:
        raise _unknown(f"option of {name}", key, known)
    if not equals or not value:
        raise ValueError(f"option {key} of {name}: write it as {key}=value")
    try:
        return key, {"true": True, "false": False}[value] if known[key] is bool else known[key](value)
    except (ValueError, KeyError):
        raise ValueError(f"option {key} of {name} must be {_WANTED[known[key]]}, not {value!r}") from None


def _unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known) or 'none'}"
    return ValueError(f"unknown {what} {name!r}: {hint}")


def in_range(low: float, high: float, **options: float) -> None:
    """Errors: ValueError for an option outside [low, high] (nan is outside)."""
    for name, value in options.items():
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low:g} to {high:g}, not {value:g}")
