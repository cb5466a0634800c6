"""One row a test: what it is about, over which units, how large, how sure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

LEVEL = 0.95
NAN = math.nan


@dataclass(frozen=True)
class Result:
    """`unit` is what was counted (rooms, agents, statement means), `n` how many; `estimate` and its 95% interval are of `measure`
    (a difference, eta squared, a ratio of spreads). `size` is a standardised effect (`size_name`), where the estimate is none.
    NaN, with a `reason`: it could not be computed.
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


COLUMNS = tuple(field.name for field in fields(Result))


def table(results: Iterable[Result]) -> pd.DataFrame:
    """The results as rows, with `p_holm`: Holm's correction over all of them that have a p."""
    found = pd.DataFrame([asdict(result) for result in results], columns=list(COLUMNS))
    found.insert(COLUMNS.index("p") + 1, "p_holm", holm(found["p"].to_numpy(dtype=float)))
    return found


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
