"""The oracle's law where some hear more lines than others: each line moves a person a little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Situation
from parley.agents.mechanisms.pull_and_hearing import PullAndHearing

SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""The grid of the share of the way that one line moves a person."""


@dataclass(frozen=True)
class LineByLine(PullAndHearing):
    """The oracle's law where some hear more lines than others: each line moves a person a little.

        x' = x + f (a (h - x) + b (point - x)),   f = 1 - (1 - step)^n

    n is the number of lines heard. After one line a person has gone the share `step` of its way, and after many lines
    all of it. With step 1 it is `pull_and_hearing`.
    """

    title = "as pull_and_hearing, and more lines move more"
    contains = ("still", "degroot", "model_pull", "pull_and_hearing")

    def unfit(self, situation: Situation) -> str:
        same = np.ptp(np.diff(situation.ends)) == 0
        return "everyone hears the same number of lines, so it is pull_and_hearing" if same else ""

    def grid(self) -> Floats:
        return np.array(SHARES)[:, None]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        moved: Floats = 1 - (1 - thresholds[0]) ** np.diff(situation.ends)
        columns: Floats = moved[:, None] * super().columns(situation, thresholds)
        return columns

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return super().parameters(fit, thresholds, situation) | {"step": thresholds[:, 0]}
