"""Everyone also holds on to its innate opinion, that is, its first one: x' = x + rate (h - x) + innate (x(0) - x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation


@dataclass(frozen=True)
class FriedkinJohnsen(Mechanism):
    """Everyone also holds on to its innate opinion, that is, its first one: x' = x + rate (h - x) + innate (x(0) - x).

    Source: agents/laws/friedkin_johnsen.py. Departure: the own current opinion has a weight too, 1 - rate - innate.
    """

    title = "toward the mean heard and the own first opinion"
    contains = ("still", "degroot")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.gap, situation.first - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "innate": fit[:, 1]}
