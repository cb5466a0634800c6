"""Laws of opinion dynamics, on arrays. The folder is the registry: `--law NAME[:FILE][,option=value...]`.

A module defines one frozen dataclass that is a `Law` (agents/opinion_dynamics/base.py), its manual page as
docstring; its fields that are
numbers or texts are its options, and a field `file` is what stands after the colon.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from dataclasses import fields
from typing import Any

from parley.agents.opinion_dynamics.base import Law
from parley.llm.errors import UserError, unknown_name


def law_names() -> list[str]:
    """Every law, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def open_law(spec: str) -> Law:
    """The law of a spec. Errors: UserError on an unknown name, option or value."""
    head, *pairs = spec.split(",")
    name, _, file = head.partition(":")
    if name not in law_names():
        raise unknown_name("law", name, law_names())
    kind = _class(name)
    known = {
        field.name: str(field.type) for field in fields(kind) if field.init and str(field.type) in ("float", "str")
    }
    if bool(file) != ("file" in known):
        raise UserError(
            f"--law {spec}: write {name}:FILE" if "file" in known else f"--law {spec}: {name} takes no file"
        )
    options = dict(_option(name, pair, known) for pair in pairs)
    try:
        law: Law = kind(**options, **({"file": file} if file else {}))
    except ValueError as error:
        raise UserError(f"law {name}: {error}") from error
    return law


def _class(name: str) -> Any:
    module = importlib.import_module(f"parley.agents.opinion_dynamics.{name}")
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    return next(kind for kind in own if issubclass(kind, Law))


def _option(name: str, pair: str, known: dict[str, str]) -> tuple[str, float | str]:
    key, equals, value = pair.partition("=")
    if key not in known or key == "file":
        raise unknown_name(f"option of {name}", key, [option for option in known if option != "file"])
    if not equals or not value:
        raise UserError(f"option {key} of {name}: write it as {key}=value")
    return key, _number(name, key, value) if known[key] == "float" else value


def _number(name: str, key: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UserError(f"option {key} of {name} must be a finite number, not {value!r}")
    return found


__all__ = ["Law", "names", "open_law"]
