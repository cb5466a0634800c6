"""The data of a mixed-subjects design: outcomes of people, and what a model predicts for them and for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Arm:
    """One condition. outcome, predicted: of the same people, (n,). others: predictions for people without an outcome, (m,).

    clusters, clusters_of_others: (n,) and (m,), from 0 over all arms: who belongs together (texts of one room); None: no one.
    """

    outcome: Floats
    predicted: Floats
    others: Floats
    clusters: Codes | None = None
    clusters_of_others: Codes | None = None

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
    known; clusters_of_pairs: (m,) as in `Arm`. What is estimated is the mean of the arms with `signs` as weights.
    """

    arms: tuple[Arm, ...]
    pairs: Floats | None = None
    clusters_of_pairs: Codes | None = None

    @property
    def signs(self) -> tuple[float, ...]:
        """The weight of each arm: +1 for a single arm; -1 and +1 for control and treated."""
        return (1.0,) if len(self.arms) == 1 else (-1.0, 1.0)

    @property
    def people(self) -> int:
        """How many people have an outcome, in all arms."""
        return sum(arm.people for arm in self.arms)

    @property
    def cluster_sizes(self) -> Floats | None:
        """How many people with an outcome each cluster has; None if each person is independent."""
        codes = [arm.clusters for arm in self.arms if arm.clusters is not None]
        return np.bincount(np.concatenate(codes)).astype(float) if codes else None

    @property
    def fewest(self) -> int:
        """How many people the smallest arm has."""
        return min(arm.people for arm in self.arms)
