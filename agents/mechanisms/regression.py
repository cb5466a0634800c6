"""Regression to the mean: ratings are noise around a level of each person that never moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.agents.laws.base import Floats
from parley.agents.mechanisms.base import Mechanism, Situation


@dataclass(frozen=True)
class Regression(Mechanism):
    """Regression to the mean: ratings are noise around a level of each person that never moves.

        x' = x + a (mean of own ratings so far - x) + b (mean of the party's first ratings - x)

    A rating that is high by chance is followed by a lower one. The best forecast of a person that does not move is its
    own mean, shrunk toward its party's.
    """

    title = "regression to the mean"
    baseline = True
    simulates = False

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.average is None or situation.starts is None:
            raise ValueError("the law `regression` needs the ratings of earlier rounds")
        starts = np.array([situation.starts[name] for name in situation.names])[situation.parties]
        return np.column_stack((situation.average - situation.own, starts - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"to the own mean": fit[:, 0], "to the party's mean": fit[:, 1]}
