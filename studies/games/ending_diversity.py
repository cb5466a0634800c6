"""How diverse the endings of games are in several conditions, and whether a condition differs from the first one.

The unit is the room. The interval of a difference leaves out one room at a time, and its p is that of a permutation of rooms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import FEWEST, NONE, Ends, Floats, means_interval
from parley.analysis.statistics.null import share_as_large
from parley.analysis.tables import Tables

from .outcome_diversity import entropy, one_hot
from .played import endings

DRAWS = 2000
FEWEST_ROOMS = 20
"""Rooms of each condition that the interval of a difference needs: of ten it missed 0 in 13 to 24% of the sets (docs/exam.md)."""


def diversity(runs: Mapping[str, Tables]) -> pd.DataFrame:
    """Return one row per condition: rooms, distinct (different endings), entropy (bits), and its difference
    from the first condition with an interval (jackknife of both) and the p of a permutation of rooms between the two.
    """
    ends_by_condition = {
        name: endings(tables)["ending"].dropna().reset_index(drop=True) for name, tables in runs.items()
    }
    first, *_ = ends_by_condition
    rows: list[dict[str, Any]] = []
    for name, ends in ends_by_condition.items():
        row: dict[str, Any] = {"condition": name, "rooms": len(ends), "distinct": ends.nunique()}
        row["entropy"] = entropy(ends.value_counts().to_numpy(dtype=float))
        if name != first:
            row["difference"] = row["entropy"] - rows[0]["entropy"]
            ends_of = difference_interval(pseudo_entropies(ends), pseudo_entropies(ends_by_condition[first]))
            row |= dict(zip(("difference_low", "difference_high"), ends_of, strict=True))
            row["p"] = permutation_p(ends_by_condition[first], ends)
        rows.append(row)
    columns = ["condition", "rooms", "distinct", "entropy", "difference", "difference_low", "difference_high", "p"]
    return pd.DataFrame(rows, columns=columns)


def pseudo_entropies(ends: pd.Series) -> Floats:
    """Return the pseudo-values of the entropy of endings, one a room, from leaving out one room at a time (Tukey 1958)."""
    if len(ends) < 2:
        return np.array([])
    matrix = one_hot(ends)
    counts = matrix.sum(axis=0)
    without = np.array([entropy(counts - row) for row in matrix])
    return len(ends) * entropy(counts) - (len(ends) - 1) * without


def difference_interval(values: Floats, others: Floats) -> Ends:
    """Return the 95% interval of the mean of `values` minus that of `others`, two independent groups of rooms (Welch).

    (nan, nan) with fewer than `FEWEST_ROOMS` rooms of a condition; `permutation_p` also serves for fewer.
    """
    if min(len(values), len(others)) < FEWEST_ROOMS:
        return NONE
    low, high = means_interval([values, -others])
    return 2 * low, 2 * high


def permutation_p(first: pd.Series, second: pd.Series) -> float:
    """Return the p of a difference in entropy this large if rooms are shuffled between the two; NaN below FEWEST rooms."""
    if min(len(first), len(second)) < FEWEST:
        return float("nan")
    matrix, size = one_hot(pd.concat([first, second], ignore_index=True)), len(first)

    def distance(order: Any) -> float:
        return abs(entropy(matrix[order[:size]].sum(axis=0)) - entropy(matrix[order[size:]].sum(axis=0)))

    rng, seen = np.random.default_rng(0), distance(np.arange(len(matrix)))
    return share_as_large([distance(rng.permutation(len(matrix))) for _ in range(DRAWS)], seen)
