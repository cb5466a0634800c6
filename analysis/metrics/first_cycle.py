"""The share of all movement that happens in the first round (Taubenfeld et al.: the largest change comes in the first cycle)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import interval, mean_interval
from analysis.load import Tables
from analysis.metrics._cells import NO_AGENT, Cell, cells, frame, spans, with_interval
from analysis.metrics.drift import ratio

ORDER = 3
TITLE = "Share of the movement in the first round"
NOTE = (
    "The mean change in round 1 over the mean change in all rounds. A steady walk would have one part in the number of "
    "rounds. Empty where the whole change cannot be told from none: the share would divide by noise."
)
LABELS = {"rooms": "rooms", "first": "round 1", "total": "all rounds", "share": "share", "reason": "why empty"}


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, missing (agents left out), first and total (points), share, reason."""
    kinds = {"rooms": "int64", "missing": "int64", "first": "float64", "total": "float64"}
    return frame([_row(cell) for cell in cells(tables)], **kinds, **spans("share"), reason="object")


def headline(shares: pd.DataFrame) -> str:
    known = shares["share"].dropna()
    if known.empty:
        return "What part of the movement came in the first round cannot be told for any line."
    lines = "the one line" if len(known) == 1 else f"median of the {len(known)} lines"
    return f"The first round brought {known.median():.0%} of the movement ({lines} that moved)."


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing}
    if list(means.columns[:2]) != [0, 1] or len(means.columns) < 3:
        return row | {"reason": "needs surveys before round 1, after it and later"}
    means = means[means[1].notna()]
    if means.empty:
        return row | {"rooms": 0, "reason": NO_AGENT}
    values = means.to_numpy(dtype=float)
    pairs = np.column_stack([values[:, 1] - values[:, 0], values[:, -1] - values[:, 0]])
    row |= {"rooms": len(means), "first": pairs[:, 0].mean(), "total": pairs[:, 1].mean()}
    low, high = mean_interval(pairs[:, 1], "total", *cell.keys.values())
    if not (low > 0 or high < 0):
        return row | {"reason": "one room only" if len(means) == 1 else "no movement to share"}
    ends = interval(pairs, ratio, "share", *cell.keys.values())
    return row | with_interval("share", float(row["first"] / row["total"]), ends)
