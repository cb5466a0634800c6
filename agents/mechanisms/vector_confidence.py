"""Bounded confidence over several questions: `hegselmann_krause`, where near means near in all attitudes together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import HIGH, ONE_QUESTION, Mechanism, Situation, distances


@dataclass(frozen=True)
class VectorConfidence(Mechanism):
    """Bounded confidence over several questions: `hegselmann_krause`, where near means near in all attitudes together.

    A line counts if the Euclidean distance between speaker and hearer, over the main and all further questions, is at
    most epsilon. It moves the attitude on the main question. It needs a run in which agents rate further questions.
    """

    title = "toward the mean of the lines of like-minded speakers"
    contains = ("still", "degroot")
    simulates = False

    def unfit(self, situation: Situation) -> str:
        return "" if situation.questions else ONE_QUESTION

    def grid(self) -> Floats:
        return np.vstack((distances(), HIGH + distances()))

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.apart is None:
            raise ValueError("the law `vector_confidence` needs attitudes on several questions")
        near = (situation.apart <= thresholds[0]) * 1.0
        return situation.mean(situation.gaps, near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}
