"""Abilities: what an agent asks itself before it speaks. The folder is the registry.

A module defines one frozen dataclass with `ask`, `read` and `tokens` (agents/reasoning/base.py), and has its question in
agents/prompts/think_<name>.txt. Its fields are the options of `think = "bounded,words=40"`.
"""

from __future__ import annotations

import pkgutil
from functools import cache

from parley.agents.options import build_option
from parley.agents.reasoning.base import Ability

NONE = "none"


def ability_names() -> list[str]:
    """Every ability, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


@cache
def open_ability(spec: str) -> Ability | None:
    """The ability of a spec, NAME[,option=value...]; None for "none". Errors: UserError on an unknown name, option or value."""
    if spec == NONE:
        return None
    ability: Ability = build_option(spec, "ability", __name__, "read", ability_names(), also=[NONE])
    return ability


__all__ = ["Ability", "names", "open_ability"]
