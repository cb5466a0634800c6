"""No agent moves: x' = x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation


@dataclass(frozen=True)
class Still(Mechanism):
    """No agent moves: x' = x."""

    title = "no agent moves"
    contains = ()
    baseline = True

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.zeros((len(situation.own), 0))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {}
