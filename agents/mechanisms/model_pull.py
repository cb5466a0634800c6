"""Everyone drifts to one point, the model's own opinion, whatever it hears: x' = x + mu (point - x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import HIGH, LOW, Mechanism, Situation


@dataclass(frozen=True)
class ModelPull(Mechanism):
    """Everyone drifts to one point, the model's own opinion, whatever it hears: x' = x + mu (point - x).

    The coefficients are the pulls to both ends of the axis, so that the point is within it.
    """

    title = "toward one point shared by all"

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((LOW - situation.own, HIGH - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        mu = fit[:, -2] + fit[:, -1]
        point = np.divide(LOW * fit[:, -2] + HIGH * fit[:, -1], mu, out=np.full_like(mu, np.nan), where=mu > 0)
        return {"mu": mu, "point": point}
