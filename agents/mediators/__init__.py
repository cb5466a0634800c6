"""Mediators: policies that turn opinions and critiques into a statement. `mediator=habermas,candidates=4` chooses one.

Each module of this folder defines one: a frozen dataclass made from `Mediator` (agents/mediators/base.py) with
`speak(brief, seed)`, a conversation that yields requests and returns a `Statement`, and `calls(members)`. Its fields
are the options.
"""

from __future__ import annotations

from parley.agents.mediators.base import Mediator
from parley.llm.registry import Registry

MEDIATORS = Registry("mediator", __name__, "parley.mediators", ("speak", "calls", "files"))


def open_mediator(spec: str) -> Mediator:
    """Make the mediator of a spec. Errors: UserError if a name, option or value is wrong."""
    mediator: Mediator = MEDIATORS.open(spec)
    return mediator


__all__ = ["MEDIATORS", "Mediator", "open_mediator"]
