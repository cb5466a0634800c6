"""Mediators: what is made of everybody's opinions and critiques. The folder is the registry.

A module defines one frozen dataclass with `speak(brief, seed)`, a conversation that yields requests and returns a `Statement`
(agents/mediators/base.py), and `calls(members)`. Its fields are the options of `mediator = "habermas,candidates=4"`.
"""

from __future__ import annotations

import pkgutil

from parley.agents.mediators.base import Mediator
from parley.agents.options import build_option


def mediator_names() -> list[str]:
    """Every mediator, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def open_mediator(spec: str) -> Mediator:
    """The mediator of a spec, NAME[,option=value...]. Errors: UserError on an unknown name, option or value."""
    mediator: Mediator = build_option(spec, "mediator", __name__, "speak", mediator_names())
    return mediator


__all__ = ["Mediator", "names", "open_mediator"]
