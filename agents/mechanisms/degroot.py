"""Everyone moves toward the mean that it hears: x' = x + rate (h - x). Source: agents/laws/degroot.py."""

from __future__ import annotations

from dataclasses import dataclass

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation


@dataclass(frozen=True)
class DeGroot(Mechanism):
    """Everyone moves toward the mean that it hears: x' = x + rate (h - x). Source: agents/laws/degroot.py."""

    title = "toward the mean heard"
    name = "degroot"

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return situation.gap[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0]}
