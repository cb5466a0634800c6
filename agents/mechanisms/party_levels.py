"""Each party relaxes to a level of its own, at a rate of its own, whatever its members hear: x' = x + rate (level - x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation


@dataclass(frozen=True)
class PartyLevels(Mechanism):
    """Each party relaxes to a level of its own, at a rate of its own, whatever its members hear: x' = x + rate (level - x)."""

    title = "each party relaxes to its own level"
    contains = ("still", "model_pull")
    baseline = True
    bounded = False
    by_party = True

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        members = situation.parties[:, None] == np.arange(len(situation.names))
        return np.hstack((members * 1.0, members * situation.own[:, None]))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        start, rate = np.split(fit.T, 2)
        level = np.divide(start, -rate, out=np.full_like(start, np.nan), where=rate != 0)
        numbers: dict[str, Floats] = {}
        for name, own_level, own_rate in zip(situation.names, level, -rate, strict=True):
            numbers |= {f"level {name}": own_level, f"rate {name}": own_rate}
        return numbers
