"""Near lines attract and far lines repel: as `deffuant` within `acceptance`, the opposite beyond `rejection`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation, distances


@dataclass(frozen=True)
class JagerAmblard(Mechanism):
    """Near lines attract and far lines repel: as `deffuant` within `acceptance`, the opposite beyond `rejection`.

    This is the expected move of a meeting in agents/laws/jager_amblard.py. With rejection 10 it is `deffuant`.
    """

    title = "near lines attract, far lines repel"
    contains = ("still", "degroot", "deffuant")

    def grid(self) -> Floats:
        near, far = np.meshgrid(distances(), distances(), indexing="ij")
        pairs: Floats = np.column_stack((near.ravel(), far.ravel()))
        return pairs[pairs[:, 0] <= pairs[:, 1]]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        distance = np.abs(situation.gaps)
        sign = (distance <= thresholds[0]) * 1.0 - (distance > thresholds[1])
        return situation.mean(situation.gaps * sign)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "acceptance": thresholds[:, 0], "rejection": thresholds[:, 1]}
