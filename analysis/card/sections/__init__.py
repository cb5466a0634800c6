"""Sections of the card: one module each, in this folder or of your own (llm/registry.py).

A section has

ORDER, TITLE, NOTE   its place on the page, its title, and how it was measured
NEEDS                its conditions (functions of analysis/card/conditions.py)
QUANTITIES           by name: the title for a reader and the measure
WATCH                the quantities whose intervals decide whether another batch is run (none: one batch is enough)
claims(study, base)   a pure function that returns the estimates

and may have

OUTSIDE              what is asked outside of debates (interviews.py)
sentences(claims, first)   sentences for "In short", which has five at most
warnings(claims, first)    warnings for the top of the page
result(claims, first)      the first sentence of the section ("": none)
slots(first)               texts for more slots of NOTE, by name: what depends on the society
absent(first)              why the section cannot be made with these people ("": it can); it then has no estimates

NOTE and the titles of quantities have slots for the names of the two parties that debate: {first}, {firsts} (see `named`).

Conditions and numbers are worded by analysis/card/labels.py. A module whose name starts with an underscore is a shared helper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from parley.agents.society import DEFAULT, SEATS, Society, article
from parley.analysis.card.conditions import Batch
from parley.llm.registry import Registry

REQUIRED = ("ORDER", "TITLE", "NOTE", "NEEDS", "QUANTITIES", "WATCH", "claims")
SECTIONS = Registry("section", __name__, "parley.card_sections", REQUIRED, shared=(), whole=True)


class Quantity(NamedTuple):
    """The title for a reader, and the measure: points (of 0-10), share, rounds, rate (share per line), ratio, correlation.

    unit: the name of the unit on the page, if it is not that of the measure (analysis/card/labels.py).
    """

    title: str
    measure: str
    unit: str = ""

    def of(self, society: Society) -> Quantity:
        """The quantity with the names of the society's parties in its title."""
        return self._replace(title=named(self.title, society))


def named(text: str, society: Society) -> str:
    """A text with the names of a society's two parties in its slots (see `fill_names`)."""
    labels, plurals = (tuple(map(name, society.debaters)) for name in (society.label, society.plural))
    return neutral_named(fill_names(text, labels, plurals), society)


def neutral_named(text: str, society: Society) -> str:
    """A text in which the neutral seat has the name that the society gives it: the card's texts say Default.

    >>> from parley.agents.society import load_society
    >>> neutral_named("nearer to the Default's answer", load_society("neutral"))
    "nearer to the Neutral's answer"
    """
    names = {"Default": society.label(DEFAULT), "Defaults": society.plural(DEFAULT)}
    return re.sub(r"\bDefaults?\b", lambda match: names[match[0]], text)


def fill_names(text: str, labels: Sequence[str], plurals: Sequence[str]) -> str:
    """A text with names in its slots: {first}, {a first}, {firsts}, {firsts'}, and the same for the second party.

    >>> fill_names("{a first}, {firsts}, {seconds'} end", ("Elf", "Orc"), ("Elves", "Orcs"))
    "an Elf, Elves, Orcs' end"
    """
    for seat, label, plural in zip(SEATS, labels, plurals, strict=True):
        owned = f"{plural}'" if plural.endswith("s") else f"{plural}'s"
        slots = {seat: label, f"a {seat}": f"{article(label)} {label}", f"{seat}s": plural, f"{seat}s'": owned}
        for slot, words in slots.items():
            text = text.replace(f"{{{slot}}}", words)
    return text


SPAN = {"points": 10.0, "share": 1.0, "rate": 1.0}
"""The range of a measure, to which --tight compares the width of an interval."""


def sections(names: Sequence[str] = ()) -> dict[str, ModuleType]:
    """The sections of these names (none: all), sorted by ORDER. Errors: UserError on an unknown name."""
    modules: dict[str, ModuleType] = SECTIONS.modules(names or SECTIONS.names())
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def absent(section: ModuleType, first: Batch) -> str:
    """Why a section cannot be made with these people ("": it can)."""
    return str(section.absent(first)) if hasattr(section, "absent") else ""


def quantities() -> dict[str, Quantity]:
    """Every quantity of every section, by name; titles have slots for the names of parties."""
    return {name: quantity for section in sections().values() for name, quantity in section.QUANTITIES.items()}
