"""Abilities: what an agent asks itself before it speaks. The folder is the registry.

A module defines one frozen dataclass with `ask`, `read` and `tokens` (agents/reasoning/base.py), and has its question in
agents/prompts/think_<name>.txt. Its fields are the options of `think = "bounded,words=40"`.
"""

from __future__ import annotations

from parley.agents.reasoning.base import Ability
from parley.llm.registry import Registry

NONE = "none"
ABILITIES = Registry("ability", __name__, "parley.reasoning", ("ask", "read", "tokens"))


def ability_names() -> list[str]:
    """Every ability, sorted."""
    return ABILITIES.names()


def open_ability(spec: str) -> Ability | None:
    """The ability of a spec, NAME[,option=value...]; None for "none". Errors: UserError on an unknown name, option or value."""
    if spec == NONE:
        return None
    ability: Ability = ABILITIES.get(spec)
    return ability


__all__ = ["ABILITIES", "Ability", "ability_names", "open_ability"]
