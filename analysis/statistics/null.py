"""What comes out by chance: p of a finding among draws, where most draws are, trainings on shuffled preferences.

Any training moves a model. Did what it was trained on do it? The null: the same training, on shuffled preferences.

The unit is the training: five on shuffled preferences are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.formatting import DASH, format_number
from parley.analysis.statistics.intervals import ALIKE, Ends, Floats, prediction_interval, why_no_interval
from parley.analysis.unknown import clause


class Null(NamedTuple):
    """Draws of a statistic, (draws,). around: the value that it has on average where nothing is there.

    >>> null = Null(np.array([-1.0, 0.0, 1.0]))
    >>> null.p(1.0), null.p(2.0), null.band
    (0.75, 0.25, (-0.95, 0.95))
    """

    draws: Floats
    around: float = 0.0

    def p(self, value: float) -> float:
        """Return the two-sided p value; the finding counts as a draw, so it is never 0 (Phipson and Smyth 2010).

        NaN for a finding that is NaN.
        """
        if np.isnan(value):
            return float("nan")
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


def share_as_large(draws: Sequence[float] | Floats, value: float) -> float:
    """Return the one-sided p value: the share of draws that are as large as a finding, which counts as a draw itself.

    Equal but for rounding counts as large. To ask for small ones give draws and value with a minus, for either sign their
    sizes. NaN for a finding that is NaN.

    >>> share_as_large([0.0, 1.0, 2.0], 2.0)
    0.5
    """
    if np.isnan(value):
        return float("nan")
    return (1 + int((np.asarray(draws) >= value - ALIKE).sum())) / (1 + len(draws))


PERCENT = 100


def against_nulls(value: float, nulls: pd.Series, by: str) -> tuple[int, str, float, float]:
    """Return the side of a value (1 above, -1 below, 0 inside) of where one more null lies, why that is unknown, and its ends.

    by: what the nulls were trained on, shuffled.

    >>> [round(part, 2) for part in against_nulls(0.9, pd.Series([-0.1, 0.0, 0.1, 0.0, 0.1]), "wins") if part != ""]
    [1, -0.23, 0.27]
    """
    null_values = nulls.dropna().to_numpy(dtype=float)
    low, high = prediction_interval(null_values)
    if np.isnan(low):
        return 0, f"{why_no_interval(null_values, 'training')} on shuffled {by}", low, high
    if np.isnan(value):
        return 0, "the trained model has no value", low, high
    return int(value > high) - int(value < low), "", low, high


def null_line(
    name: str,
    outcome: tuple[int, str, float, float],
    nulls: Sequence[float],
    by: str = "wins",
    who: str = "writer",
    percent: bool = True,
) -> str:
    """Return how a measure of a trained model (who) compares with the same training on shuffled wins (by).

    percent: the measure is a share, and is written in percent; else with two decimals.
    """
    side, reason, low, high = outcome
    listed = ", ".join(_written(value, percent) for value in nulls if not np.isnan(value)) or DASH
    start = f"Trained on shuffled {by}, the {name} is {listed}{'%' if percent else ''}."
    if reason:
        return f"{start} It is unknown whether the {by} did more than training as such, because {clause(reason)}."
    word = {1: "above", -1: "below", 0: "inside"}[side]
    ends = f"{_written(low, percent)} to {_written(high, percent)}{'%' if percent else ''}"
    return f"{start} One more such training would give {ends} in 95% of cases; the trained {who} is {word}."


def _written(value: float, percent: bool) -> str:
    return format_number(PERCENT * value, 1) if percent else format_number(value)
