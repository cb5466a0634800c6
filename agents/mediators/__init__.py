"""Mediators: what is made of everybody's opinions and critiques. The folder is the registry.

A module defines one frozen dataclass with `speak(brief, seed)`, a conversation that yields requests and returns a
`Statement` (agents/mediators/base.py), and `calls(members)`. Its fields are the options of `mediator =
"habermas,candidates=4"`.
"""

from __future__ import annotations

from parley.agents.mediators.base import Mediator
from parley.llm.registry import Registry

MEDIATORS = Registry("mediator", __name__, "parley.mediators", ("speak", "calls", "files"))


def mediator_names() -> list[str]:
    """Every mediator, sorted."""
    return MEDIATORS.names()


def open_mediator(spec: str) -> Mediator:
    """The mediator of a spec, NAME[,option=value...]. Errors: UserError on an unknown name, option or value."""
    mediator: Mediator = MEDIATORS.open(spec)
    return mediator


__all__ = ["MEDIATORS", "Mediator", "mediator_names", "open_mediator"]
