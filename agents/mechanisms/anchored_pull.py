"""All three pulls: x' = x + kappa (h - x) + innate (x(0) - x) + mu (point - x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Situation
from parley.agents.mechanisms.pull_and_hearing import PullAndHearing


@dataclass(frozen=True)
class AnchoredPull(PullAndHearing):
    """All three pulls: x' = x + kappa (h - x) + innate (x(0) - x) + mu (point - x).

    The oracle with a short memory is of this kind: it begins from its first opinion, and forgets lines.
    """

    title = "toward the mean heard, the own first opinion and one point shared by all"
    contains = ("still", "degroot", "friedkin_johnsen", "model_pull", "pull_and_hearing")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.first - situation.own, super().columns(situation, thresholds)))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"innate": fit[:, 0]} | super().parameters(fit[:, 1:], thresholds, situation)
