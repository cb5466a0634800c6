"""The values of a statistic where nothing is there: what comes out by chance, and how rarely that is as far away as a finding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parley.analysis.statistics.intervals import ALIKE, Ends, Floats


class Null(NamedTuple):
    """Draws of a statistic, (draws,). around: the value that it has on average where nothing is there.

    >>> null = Null(np.array([-1.0, 0.0, 1.0]))
    >>> null.p(1.0), null.p(2.0), null.band
    (0.75, 0.25, (-0.95, 0.95))
    """

    draws: Floats
    around: float = 0.0

    def p(self, value: float) -> float:
        """Return the two-sided p value; the finding counts as a draw, so it is never 0 (Phipson and Smyth 2010)."""
        beyond = np.abs(self.draws - self.around) >= abs(value - self.around) - ALIKE
        return (1 + int(beyond.sum())) / (1 + len(self.draws))

    def row(self, value: float) -> dict[str, float]:
        """Return null_low, null_high and p of a finding, as columns of a table."""
        low, high = self.band
        return {"null_low": low, "null_high": high, "p": self.p(value)}

    @property
    def band(self) -> Ends:
        """The ends between which the middle 95% of the draws are."""
        return float(np.quantile(self.draws, 0.025)), float(np.quantile(self.draws, 0.975))
