"""The share of all movement that happens in the first round (Taubenfeld et al.: the largest change comes in the first cycle)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, interval, mean_interval, too_few
from parley.analysis.metrics._cells import NO_AGENT, Cell, bounded, cells, frame, spans
from parley.analysis.metrics.drift import ratio
from parley.analysis.tables import Tables

ORDER = 3
TITLE = "Share of the movement in the first round"
NOTE = (
    "The mean change in round 1 over the mean change in all rounds. If opinions moved evenly, round 1 of 5 would hold 20% of "
    "the change. A share is from 0 to 1. It is left empty where the whole change cannot be told from none, and where round 1 "
    "brought more than all rounds together or went the other way; its interval ends at 0 and 1."
)
LABELS = {"rooms": "rooms", "first": "round 1", "total": "all rounds", "share": "share", "reason": "why empty"}


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: measure, rooms, missing (agents left out), first and total (points), share, reason."""
    kinds = {"measure": "object", "rooms": "int64", "missing": "int64", "first": "float64", "total": "float64"}
    return frame([line(cell) for cell in cells(tables)], **kinds, **spans("share"), reason="object")


def headline(shares: pd.DataFrame) -> str:
    known = shares["share"].dropna()
    if known.empty:
        return "What part of the movement came in the first round cannot be told for any line."
    lines = "the one line" if len(known) == 1 else f"median of the {len(known)} lines"
    return f"The first round brought {known.median():.0%} of the change of opinion ({lines} that changed by more than chance)."


def line(cell: Cell) -> dict[str, Any]:
    """The row of one topic, group and party."""
    means, missing = cell.complete()
    row: dict[str, Any] = {**cell.keys, "measure": cell.measure, "rooms": len(means), "missing": missing}
    if list(means.columns[:2]) != [0, 1] or len(means.columns) < 3:
        return row | {"reason": "needs surveys before round 1, after it and later"}
    means = means[means[1].notna()]
    if means.empty:
        return row | {"rooms": 0, "reason": NO_AGENT}
    values = means.to_numpy(dtype=float)
    pairs = np.column_stack([values[:, 1] - values[:, 0], values[:, -1] - values[:, 0]])
    row |= {"rooms": len(means), "first": pairs[:, 0].mean(), "total": pairs[:, 1].mean()}
    low, high = mean_interval(pairs[:, 1])
    if not (low > 0 or high < 0):
        return row | {"reason": too_few() if len(means) < FEWEST else "no movement to share"}
    share = float(row["first"] / row["total"])
    outside = "round 1 brought more than all rounds together" if share > 1 else "round 1 went the other way"
    return row | bounded("share", share, interval(pairs, ratio), outside)
