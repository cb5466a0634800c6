"""Laws of opinion dynamics, on arrays: `--law NAME[:FILE][,option=value...]` (llm/registry.py).

A module defines one frozen dataclass that is a `Law` (agents/opinion_dynamics/base.py), its manual page as
docstring; its fields (but for
those with `repr=False`) are its options, and a field `file` is what stands after the colon.
"""

from __future__ import annotations

from parley.agents.opinion_dynamics.base import Law
from parley.llm.registry import Registry

LAWS = Registry("law", __name__, "parley.laws", ("begin", "step"), colon="file")


def law_names() -> list[str]:
    """Every law, sorted."""
    return LAWS.names()


def open_law(spec: str) -> Law:
    """The law of a spec. Errors: UserError on an unknown name, option or value."""
    law: Law = LAWS.open(spec)
    return law


__all__ = ["LAWS", "Law", "law_names", "open_law"]
