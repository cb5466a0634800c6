"""Does a party cross the Default's line? (Taubenfeld et al.: partisan lines never do.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import mean_interval
from analysis.load import Tables
from analysis.metrics._cells import Cell, cells, toward

ORDER = 4
TITLE = "Crossing of the Default's line"
NOTE = (
    "round: the first round after which the party's mean lies beyond the Default's mean of that round (empty: never). "
    "share: rooms that end at least half a point beyond it, 95% bootstrap interval."
)
MARGIN = 0.5


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, default (level before the debates), round, share with low and high."""
    every = list(cells(tables))
    lines = {
        (cell.topic, cell.group): cell.complete()[0].mean(axis=0)
        for cell in every
        if cell.party == "default" and len(cell.complete()[0])
    }
    return pd.DataFrame([_row(cell, lines.get((cell.topic, cell.group))) for cell in every if cell.party != "default"])


def _row(cell: Cell, line: np.ndarray | None) -> dict[str, Any]:
    means, missing = cell.complete()
    side = toward(cell, means)
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing, "default": cell.default}
    if side is None or cell.default is None:
        return row
    against = line if line is not None and len(line) == means.shape[1] else np.full(means.shape[1], cell.default)
    beyond = side * (np.nanmean(means, axis=0) - against) > 0
    ends = (side * (means[:, -1] - against[-1]) >= MARGIN).astype(float)
    low, high = mean_interval(ends, "crossing", *cell.keys.values())
    return row | {
        "round": int(np.argmax(beyond)) if beyond.any() else None,
        "share": ends.mean(),
        "share_low": low,
        "share_high": high,
    }
