"""Bounded confidence line by line: x' = x + rate mean(g - x where |g - x| <= epsilon, else 0)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation, distances


@dataclass(frozen=True)
class Deffuant(Mechanism):
    """Bounded confidence line by line: x' = x + rate mean(g - x where |g - x| <= epsilon, else 0).

    This is the expected move of a meeting in agents/laws/deffuant.py; the oracle's epsilon works in this way.
    """

    title = "each near line attracts"
    contains = ("still", "degroot")

    def grid(self) -> Floats:
        return distances()

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        near = np.abs(situation.gaps) <= thresholds[0]
        return situation.mean(situation.gaps * near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}
