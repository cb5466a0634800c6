"""Mediators: what is made of everybody's opinions and critiques. The folder is the registry.

A module defines one frozen dataclass with `speak(brief, seed)`, a conversation that yields requests and returns a `Statement`
(agents/mediators/base.py), and `calls(members)`. Its fields are the options of `mediator = "habermas,candidates=4"`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from agents.mediators.base import Mediator
from agents.options import options_of
from llm.errors import UserError, unknown


def names() -> list[str]:
    """Every mediator, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def open_mediator(spec: str) -> Mediator:
    """The mediator of a spec, NAME[,option=value...]. Errors: UserError on an unknown name, option or value."""
    name, *pairs = spec.split(",")
    if name not in names():
        raise unknown("mediator", name, names())
    kind = _class(name)
    try:
        mediator: Mediator = kind(**options_of(name, pairs, kind))
    except ValueError as error:
        raise UserError(f"mediator {name}: {error}") from error
    return mediator


def _class(name: str) -> Any:
    module = importlib.import_module(f"agents.mediators.{name}")
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    return next(kind for kind in own if hasattr(kind, "speak"))


__all__ = ["Mediator", "names", "open_mediator"]
