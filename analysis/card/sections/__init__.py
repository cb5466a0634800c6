"""Sections of the card: a module each, of the folder or of your own (llm/registry.py).

ORDER, TITLE, NOTE; NEEDS, the conditions that it is made of (functions of analysis/card/conditions.py); QUANTITIES, what each
claim is called for a reader and what it is measured in; WATCH, the quantities whose intervals decide whether it has been held
often enough (none: one batch is enough); OUTSIDE, if it likes, the kinds of question that are put outside of debates
(interviews.py); `claims(held, base)`, a pure function; and, if it likes, `sentences(claims, first)` for the first screen of the
card, which holds five at most, `warnings(claims, first)`, which stand before these, and `result(claims, first)`, the one with
which the section opens (empty: there is none).
Conditions and numbers are told by analysis/card/labels.py. A module whose name starts with an underscore is a shared helper.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from parley.llm.registry import Registry

SECTIONS = Registry(
    "section",
    __name__,
    "parley.card_sections",
    ("ORDER", "TITLE", "NOTE", "NEEDS", "QUANTITIES", "WATCH", "claims"),
    shared=(),
    whole=True,
)


class Quantity(NamedTuple):
    """Its words for a reader, and the measure: points (of 0-10), share, rounds, rate (share a line), ratio, correlation.

    `unit`: how the page calls that, where not by the measure (analysis/card/labels.py).
    """

    title: str
    measure: str
    unit: str = ""


SPAN = {"points": 10.0, "share": 1.0, "rate": 1.0}
"""The whole range of a measure; one without has no width to be judged by."""


def sections(names: Sequence[str] = ()) -> dict[str, ModuleType]:
    """The sections called `names` (none: all) by name, by ORDER. Errors: UserError on an unknown name."""
    modules: dict[str, ModuleType] = SECTIONS.modules(names or SECTIONS.names())
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def quantities() -> dict[str, Quantity]:
    """Every quantity of every section, by name."""
    return {name: told for section in sections().values() for name, told in section.QUANTITIES.items()}
