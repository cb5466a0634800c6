"""The data of a mixed-subjects design: outcomes of people, and what a model predicts for them and for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """One condition. outcome, predicted: of the same people, (n,). others: predictions for people without an outcome, (m,)."""

    outcome: Floats
    predicted: Floats
    others: Floats

    def __post_init__(self) -> None:
        if len(self.outcome) != len(self.predicted):
            raise ValueError("every outcome needs a prediction")

    @property
    def people(self) -> int:
        """How many people have an outcome."""
        return len(self.outcome)


@dataclass(frozen=True)
class Sample:
    """The arms of a study: one (a mean is estimated), or control and treated (the effect: treated minus control).

    pairs: (m, 2), predictions for people without an outcome in both conditions, in the order of the arms; None if they are not
    known. What is estimated is the mean of the arms with `signs` as weights.
    """

    arms: tuple[Arm, ...]
    pairs: Floats | None = None

    @property
    def signs(self) -> tuple[float, ...]:
        """The weight of each arm: +1 for a single arm; -1 and +1 for control and treated."""
        return (1.0,) if len(self.arms) == 1 else (-1.0, 1.0)

    @property
    def people(self) -> int:
        """How many people have an outcome, in all arms."""
        return sum(arm.people for arm in self.arms)

    @property
    def fewest(self) -> int:
        """How many people the smallest arm has."""
        return min(arm.people for arm in self.arms)
