"""The share of all movement that happens in the first round (Taubenfeld et al.: the largest change comes in the first cycle)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval, mean_interval
from analysis.load import Tables
from analysis.metrics._cells import Cell, cells

ORDER = 3
TITLE = "Share of the movement in the first round"
NOTE = (
    "share: mean change in round 1 over mean change in all rounds, 95% bootstrap interval over rooms; "
    "empty (with a reason) where the whole change cannot be told from none."
)


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, first (points), total (points), share with low and high, reason."""
    return pd.DataFrame([_row(cell) for cell in cells(tables)])


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    means = means[np.isfinite(means[:, 1])] if len(means) else means
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing}
    if not len(means):
        return row | {"reason": "no rated rooms"}
    pairs = np.column_stack([means[:, 1] - means[:, 0], means[:, -1] - means[:, 0]])
    row |= {"first": pairs[:, 0].mean(), "total": pairs[:, 1].mean()}
    low, high = mean_interval(pairs[:, 1], "total", *cell.keys.values())
    if not (low > 0 or high < 0):
        return row | {"reason": "no movement to share"}
    low, high = interval(pairs, _share, "share", *cell.keys.values())
    return row | {"share": float(row["first"] / row["total"]), "share_low": low, "share_high": high, "reason": None}


def _share(drawn: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(drawn[..., 0].mean(axis=1) / drawn[..., 1].mean(axis=1))
