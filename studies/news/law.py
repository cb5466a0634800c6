"""How a story changes as it is passed on: a planted law.

A version has a degree L from 0 to 10 in each of six dimensions; the true report has 0 in all of them. A person who passes it on
changes L by

    spreader, no role   + drift
    commentator         + drift / 2
    verifier            - drift, but not below 0

With `heed` h, people who have heard a line from outside (an official statement) add only (1 - h) of what they would add.
Degrees are whole numbers: one between two of them is drawn, with this mean. Drift is 0 unless it is planted. Then every version
is the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.errors import UserError, unknown_name

DIMENSIONS = ("sentiment", "information", "certainty", "style", "time", "perspective")
"""Tone, news added, how sure it sounds, style, when it happened, and whose point of view it takes."""
SHARES = {"commentator": 0.5, "verifier": -1.0}
"""The share of the drift by which a role changes a story; 1 for a spreader and for people without a role."""
MOST = 10.0


@dataclass(frozen=True)
class StoryLaw:
    """The planted law; see the top of this file. drift: points a retelling, by dimension."""

    drift: Mapping[str, float] = field(default_factory=dict)
    heed: float = 1.0

    def next_degree(self, degree: float, dimension: str, role: str, corrected: bool) -> float:
        """Return the expected degree of the next version.

        >>> law = StoryLaw({"style": 2.0})
        >>> [law.next_degree(3.0, "style", role, False) for role in ("spreader", "commentator", "verifier")]
        [5.0, 4.0, 1.0]
        >>> law.next_degree(3.0, "style", "spreader", True)
        3.0
        """
        change = self.drift.get(dimension, 0.0) * SHARES.get(role, 1.0)
        if corrected and change > 0:
            change *= 1 - self.heed
        return min(max(degree + change, 0.0), MOST)


def plant_story(drift: str = "", heed: float = 1.0) -> StoryLaw:
    """Return the law. drift: `0.5` (every dimension) or `sentiment:1+certainty:0.5`. Errors: UserError."""
    if not 0 <= heed <= 1:
        raise UserError("oracle: heed must be between 0 and 1. Example: oracle,drift=0.5,heed=0")
    every = "+".join(f"{name}:{drift}" for name in DIMENSIONS) if drift and ":" not in drift else drift
    points = parse_numbers("drift", every)
    for name, value in points.items():
        if name not in DIMENSIONS:
            raise unknown_name("dimension of oracle,drift", name, DIMENSIONS)
        if not 0 <= value <= MOST:
            raise UserError(f"oracle: drift is {value:g}, but must be between 0 and 10 points per retelling")
    return StoryLaw({name: value for name, value in points.items() if value}, heed)
