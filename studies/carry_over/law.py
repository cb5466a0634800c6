"""The planted carry-over of the oracle: movement on one topic moves its ratings on another.

`--llm oracle,carry_over=0.5`: a person who moved by two points on racism, by what it heard, rates climate change one point
higher. What it says aloud follows from its attitude as without the law. The law takes the oracle's usual parameters for the other
topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.llm.backends.oracle.dynamics import attitude as attitude_after
from parley.llm.backends.oracle.dynamics import planted, start
from parley.llm.backends.oracle.prompt_parser import Reading


@dataclass(frozen=True)
class CarryOver:
    """carry_over: points on this topic for each point that a person moved on the others that it debated (0)."""

    carry_over: float = 0.0


def carried(reading: Reading, attitude: float, direction: int, law: CarryOver) -> float:
    """Return the attitude (0-10) by which a person rates. direction: not used."""
    moved = sum(moved_on(reading, slug) for slug in reading.banks.topics if slug != reading.topic)
    return min(max(attitude + law.carry_over * moved, 0.0), 10.0)


def moved_on(reading: Reading, slug: str) -> float:
    """Return by how many points a person moved on a topic by the lines that it heard about it; 0 without any."""
    bank = reading.banks.topics[slug]
    heard = [(name, text) for name, text in reading.heard if bank.grade(text) is not None]
    if not heard:
        return 0.0
    parameters = planted(society=reading.banks.society)[slug]
    begun = start(reading.banks, reading.persona, slug, parameters)
    return attitude_after(reading.banks, reading.persona, slug, heard, parameters)[0] - begun
