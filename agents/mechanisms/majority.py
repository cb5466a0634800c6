"""Majority force: x' = x + rate (10 P - x), P = (1 + tanh(beta m)) / 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import HIGH, MIDDLE, Mechanism, Situation

STEEPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The grid of beta, from nearly linear to nearly a step."""


@dataclass(frozen=True)
class Majority(Mechanism):
    """Majority force: x' = x + rate (10 P - x), P = (1 + tanh(beta m)) / 2.

    m, from -1 to 1, is the share of lines above the middle of the axis minus the share below. beta is the majority
    force; it has no unit. Source: De Marzo, Castellano and Garcia 2024, arXiv 2409.02822, where agents have two opinions
    and P is the probability of the upper one. Departure: here a person moves toward the opinion 10 P.
    """

    title = "toward the side of the majority heard"

    def grid(self) -> Floats:
        return np.array(STEEPNESS)[:, None]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        majority = situation.mean(np.sign(situation.heard - MIDDLE))
        target = MIDDLE + (HIGH - MIDDLE) * np.tanh(thresholds[0] * majority)
        return np.where(np.diff(situation.ends) > 0, target - situation.own, 0.0)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "beta": thresholds[:, 0]}
