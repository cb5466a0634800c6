"""A vector law: the attitudes of a person on several questions also draw on one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import ONE_QUESTION, Mechanism, Situation


@dataclass(frozen=True)
class Coupled(Mechanism):
    """A vector law: the attitudes of a person on several questions also draw on one another.

        x' = x + rate (h - x) + sum_k c_k (y_k - x)

    y_k is the own attitude on further question k. It is a row of the law of Parsegov and others 2017, IEEE Transactions
    on Automatic Control 62(5), 2270-2285, for the main question. It needs a run in which agents rate further questions.
    """

    title = "toward the mean heard and the own other attitudes"
    contains = ("still", "degroot")
    simulates = False

    def unfit(self, situation: Situation) -> str:
        return "" if situation.questions else ONE_QUESTION

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.others is None:
            raise ValueError("the law `coupled` needs attitudes on several questions")
        return np.column_stack((situation.gap, situation.others - situation.own[:, None]))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0]} | {f"pull of {name}": fit[:, 1 + k] for k, name in enumerate(situation.questions)}
