"""The oracle's law: x' = x + kappa (h - x) + mu (point - x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Situation
from parley.agents.mechanisms.model_pull import ModelPull


@dataclass(frozen=True)
class PullAndHearing(ModelPull):
    """The oracle's law: x' = x + kappa (h - x) + mu (point - x)."""

    title = "toward the mean heard and one point shared by all"
    contains: ClassVar[tuple[str, ...]] = ("still", "degroot", "model_pull")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.gap, super().columns(situation, thresholds)))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"kappa": fit[:, 0]} | super().parameters(fit, thresholds, situation)
