"""Bounded confidence: x' = x + rate (mean of the lines within epsilon of x - x); a person near no line stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation, distances


@dataclass(frozen=True)
class HegselmannKrause(Mechanism):
    """Bounded confidence: x' = x + rate (mean of the lines within epsilon of x - x); a person near no line stays.

    Source: agents/laws/hegselmann_krause.py. Departures: the own opinion is not in the mean, and there is a rate.
    """

    title = "toward the mean of the near lines"
    contains = ("still", "degroot")

    def grid(self) -> Floats:
        return distances()

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        near = (np.abs(situation.gaps) <= thresholds[0]) * 1.0
        return situation.mean(situation.gaps, near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}
