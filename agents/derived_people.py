"""People of a party whose file or set of personas has none: made of the party's first names and of its `person`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.agents.language import Language

VARIANTS: tuple[dict[str, Any], ...] = ({"gender": "male"}, {"gender": "female"}, {"age": 21}, {"age": 35}, {"age": 67})
"""The variants of people in the UCL study (002, 3.1)."""
NAMES = 3
"""Names of the people of the set `simple`."""


def plain_people(names: Sequence[str], person: str, language: Language) -> list[dict[str, Any]]:
    """Return an entry of a persona file for each name: who it is, and the description of its party's people.

    >>> from parley.agents.language import ENGLISH
    >>> plain_people(["Ann"], "a voter of the Green Party", ENGLISH)
    [{'name': 'Ann', 'backstory': 'You are Ann. You are a voter of the Green Party.'}]
    """
    return [{"name": name, "backstory": language.fill("plain_person", name=name, person=person)} for name in names]


def people_in_variants(names: Sequence[str], person: str, language: Language) -> list[dict[str, Any]]:
    """Return entries for the first names, without and with each of the VARIANTS (every set but `voters`)."""
    first = list(names)[:NAMES]
    varied = [
        {"name": name, **variant, "backstory": _varied(name, person, variant, language)}
        for variant in VARIANTS
        for name in first
    ]
    return [*plain_people(first, person, language), *varied]


def _varied(name: str, person: str, variant: dict[str, Any], language: Language) -> str:
    trait = language.words(variant["gender"]) if "gender" in variant else language.fill("age", age=variant["age"])
    return language.fill("plain_person", name=f"{name}, {trait}", person=person)
