"""The result of a test as one row: effect, units, estimate with interval, p; and Holm's correction of several."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

LEVEL = 0.95
NAN = math.nan


@dataclass(frozen=True)
class Result:
    """A test or estimate.

    unit: what was counted (rooms, agents, statement means); n: how many. estimate, low, high: of `measure` (a difference, eta
    squared, a ratio of spreads), with its 95% interval. size: a standardised effect (`size_name`) if the estimate is none.
    reason: why a number is missing (NaN).
    """

    effect: str
    unit: str
    n: int
    measure: str
    test: str
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    statistic: float = NAN
    df: float = NAN
    df_within: float = NAN
    p: float = NAN
    size: float = NAN
    size_name: str = ""
    reason: str = ""

    def with_test(self, ends: tuple[float, float], statistic: float, df: tuple[float, float], p: float) -> Result:
        """The result with the ends of its interval, a test statistic, its two degrees of freedom and p."""
        return replace(self, low=ends[0], high=ends[1], statistic=statistic, df=df[0], df_within=df[1], p=p)


COLUMNS = tuple(field.name for field in fields(Result))


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row per result, with `p_holm`: Holm's correction over all results that have a p."""
    rows = pd.DataFrame([asdict(result) for result in results], columns=list(COLUMNS))
    rows.insert(COLUMNS.index("p") + 1, "p_holm", holm(rows["p"].to_numpy(dtype=float)))
    return rows


def holm(p: np.ndarray) -> np.ndarray:
    """Corrected p, in the same order; NaN stays NaN and is not counted.

    >>> holm(np.array([0.01, 0.04, math.nan, 0.03])).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    corrected = np.full(len(p), NAN)
    known = np.isfinite(p)
    if known.any():
        corrected[known] = multipletests(p[known], method="holm")[1]
    return corrected
