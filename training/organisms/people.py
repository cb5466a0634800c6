"""Which personas of the set `twins` train an organism, measure its truth, and answer its instruments: no one is in two parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from parley.agents.persona import Persona, all_personas, parties, persona_set
from parley.llm.seeding import digest

PERSONAS = "twins"
INSTRUMENT, TRAINING, TRUTH = 8, 6, 6
"""Personas of each party in each part: 20 in all."""


class Parts(NamedTuple):
    """The personas of each part, of every party."""

    instrument: tuple[Persona, ...]
    training: tuple[Persona, ...]
    truth: tuple[Persona, ...]


@cache
def split_people() -> Parts:
    """Return the three parts; which persona is in which part follows from its text."""
    folder, parts = persona_set(PERSONAS), Parts((), (), ())
    for party in parties(folder):
        own = {one.name: one for one in all_personas(party, folder) if not one.variant}
        ordered = sorted(own.values(), key=lambda one: digest("organisms", one.backstory))
        ends = (0, INSTRUMENT, INSTRUMENT + TRAINING, INSTRUMENT + TRAINING + TRUTH)
        parts = Parts(*(known + tuple(ordered[ends[i] : ends[i + 1]]) for i, known in enumerate(parts)))
    return parts


def partisans(people: Sequence[Persona]) -> list[Persona]:
    """Return the people who have a party."""
    return [one for one in people if one.party != "default"]
