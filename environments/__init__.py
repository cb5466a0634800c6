"""Floor 2: who sits with whom, whose turn it is and who hears. By name: a module of the folder, or your own (llm/registry.py).

Ids in, turns out: no text, no language model.
"""

from __future__ import annotations

from typing import Any

from parley.environments.base import Environment
from parley.llm.registry import Registry

ENVIRONMENTS = Registry(
    "environment",
    __name__,
    "parley.environments",
    ("groups", "turns"),
    frozen=True,
    shared=("base", "sparse", "activation", "graphs", "rewiring", "rules"),
)


def environment_names() -> list[str]:
    """Every environment, sorted."""
    return ENVIRONMENTS.names()


def environment_class(name: str) -> Any:
    """The dataclass of an environment. Errors: UserError on an unknown name."""
    return ENVIRONMENTS.find(name)


__all__ = ["ENVIRONMENTS", "Environment", "environment_class", "environment_names"]
