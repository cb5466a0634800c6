"""Floor 2, environments: who sits with whom, whose turn it is, and who hears it.

An environment gets ids and returns turns; it knows neither text nor a language model. Each is a module of this folder,
or your own (llm/registry.py).
"""

from __future__ import annotations

from typing import Any

from parley.llm.registry import Registry

ENVIRONMENTS = Registry(
    "environment",
    __name__,
    "parley.environments",
    ("groups", "turns"),
    frozen=True,
    shared=("base", "activation", "given_graph", "graphs", "rewiring", "rules", "sparse_graphs"),
)


def environment_class(name: str) -> Any:
    """Return the dataclass of an environment. Errors: UserError if the name is unknown."""
    return ENVIRONMENTS.find(name)
