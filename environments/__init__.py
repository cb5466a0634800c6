"""Floor 2: who sits with whom, whose turn it is and who hears. The folder is the registry.

Ids in, turns out: no text, no language model.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from parley.environments.base import Environment

SHARED = ("base", "sparse")
"""Modules that are no environments."""


def environment_names() -> list[str]:
    """Every environment, sorted: the modules of the folder but for those in SHARED and those with an underscore."""
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
    return sorted(name for name in found if name not in SHARED and not name.startswith("_"))


def environment_class(name: str) -> Any:
    """The environment class of the module `environments/<name>.py`: the one dataclass it defines."""
    module = importlib.import_module(f"parley.environments.{name}")
    return next(
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "turns")
    )


__all__ = ["Environment", "environment_class", "names"]
