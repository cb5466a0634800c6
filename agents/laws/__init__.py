"""Laws of opinion dynamics: `--law NAME[:FILE][,option=value...]` chooses one (docs/populations.md).

Each module of this folder defines one law: a frozen dataclass made from `Law` (agents/laws/base.py). Its fields are its
options, except those with `repr=False`. A field `file` is what follows the colon. Options that every law has are
fields of `Law`, and agents/laws/motion.py applies them.
"""

from __future__ import annotations

from parley.agents.laws.base import Codes, Floats, Law, People
from parley.llm.registry import Registry

LAWS = Registry("law", __name__, "parley.laws", ("begin", "step"), shared=("base", "motion"), colon="file")


def open_law(spec: str) -> Law:
    """Make the law of a spec. Errors: UserError if a name, option or value is wrong."""
    law: Law = LAWS.open(spec)
    return law


__all__ = ["LAWS", "Codes", "Floats", "Law", "People", "open_law"]
