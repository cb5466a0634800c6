"""Any training moves a model. Did what it was trained on do it? The null: the same training, on shuffled preferences.

The unit is the training: five on shuffled preferences are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from parley.analysis.formatting import DASH, format_number
from parley.analysis.statistics.intervals import prediction_interval, why_no_interval

PERCENT = 100


def against_nulls(value: float, nulls: pd.Series, by: str) -> tuple[int, str, float, float]:
    """Return the side of a value (1 above, -1 below, 0 inside) of where one more null lies, why that is unknown, and its ends.

    by: what the nulls were trained on, shuffled.

    >>> [round(part, 2) for part in against_nulls(0.9, pd.Series([-0.1, 0.0, 0.1, 0.0, 0.1]), "wins") if part != ""]
    [1, -0.23, 0.27]
    """
    known = nulls.dropna().to_numpy(dtype=float)
    low, high = prediction_interval(known)
    if np.isnan(low):
        return 0, f"{why_no_interval(known, 'training')} on shuffled {by}", low, high
    if np.isnan(value):
        return 0, "the trained model has no value", low, high
    return int(value > high) - int(value < low), "", low, high


def null_line(
    name: str,
    found: tuple[int, str, float, float],
    nulls: Sequence[float],
    by: str = "wins",
    who: str = "writer",
    percent: bool = True,
) -> str:
    """Return how a measure of a trained model (who) compares with the same training on shuffled wins (by).

    percent: the measure is a share, and is written in percent; else with two decimals.
    """
    side, reason, low, high = found
    listed = ", ".join(_written(value, percent) for value in nulls if not np.isnan(value)) or DASH
    start = f"Trained on shuffled {by}, the {name} is {listed}{'%' if percent else ''}."
    if reason:
        return f"{start} Whether the {by} did more than training as such is unknown: {reason}."
    word = {1: "above", -1: "below", 0: "inside"}[side]
    ends = f"{_written(low, percent)} to {_written(high, percent)}{'%' if percent else ''}"
    return f"{start} One more such training would give {ends} in 95% of cases; the trained {who} is {word}."


def _written(value: float, percent: bool) -> str:
    return format_number(PERCENT * value, 1) if percent else format_number(value)
