"""Payoff scorers: what a statement is worth to a participant. The folder is the registry, a file each.

A module has `UNIT` (what its numbers are), `MOST` (statements that it can score at once, None: any number) and
`score(episode, voice, statements, seed)`, a conversation that returns a `Score` for each statement. None of them is the
payoff model of the study (a fine-tuned model of 1B parameters, not published): they stand in for it, and
`analysis/deliberation/payoff_calibration.py` says how well where there are final ratings.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from parley.llm.errors import unknown_name


def names() -> list[str]:
    """Every scorer, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def open_payoff(name: str) -> ModuleType:
    """The scorer's module. Errors: UserError on an unknown name."""
    if name not in names():
        raise unknown_name("payoff scorer", name, names())
    return importlib.import_module(f"{__name__}.{name}")
