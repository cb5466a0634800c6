"""Abilities: what an agent asks itself before it speaks. The folder is the registry.

A module defines one frozen dataclass with `ask`, `read` and `tokens` (agents/abilities/base.py), and has its question in
agents/prompts/think_<name>.txt. Its fields are the options of `think = "bounded,words=40"`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from agents.abilities.base import Ability
from agents.options import options_of
from llm.errors import UserError, unknown

NONE = "none"


def names() -> list[str]:
    """Every ability, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


@cache
def open_ability(spec: str) -> Ability | None:
    """The ability of a spec, NAME[,option=value...]; None for "none". Errors: UserError on an unknown name, option or value."""
    if spec == NONE:
        return None
    name, *pairs = spec.split(",")
    if name not in names():
        raise unknown("ability", name, [NONE, *names()])
    kind = _class(name)
    try:
        ability: Ability = kind(**options_of(name, pairs, kind))
    except ValueError as error:
        raise UserError(f"ability {name}: {error}") from error
    return ability


def _class(name: str) -> Any:
    module = importlib.import_module(f"agents.abilities.{name}")
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    return next(kind for kind in own if hasattr(kind, "read"))


__all__ = ["Ability", "names", "open_ability"]
