"""How far and how fast each party moved toward the Default, with bootstrap intervals over rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval, mean_interval
from analysis.load import Tables
from analysis.metrics._cells import Cell, cells, toward

ORDER = 2
TITLE = "Drift toward the Default"
NOTE = (
    "drift: change of the room mean from first to last survey, positive toward the Default's level "
    "before the debates (points on 0-10). "
    "closed: drift as a share of the gap. rate: least-squares slope of the room mean, points per round. "
    "95% bootstrap intervals over rooms."
)
SMALLEST_GAP = 0.5
"""Below this gap (points) the share closed is not reported: it would divide by noise."""


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: start, end, default, drift, closed and rate with low and high; rooms; missing agents."""
    return pd.DataFrame([_row(cell) for cell in cells(tables) if cell.party != "default"])


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    side = toward(cell, means)
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing, "default": cell.default}
    if not len(means):
        return row
    row |= {"start": means[:, 0].mean(), "end": means[:, -1].mean()}
    if side is None or cell.default is None:
        return row
    moved, slopes = side * (means[:, -1] - means[:, 0]), side * slope(means)
    row |= _with_interval("drift", moved, cell) | _with_interval("rate", slopes[np.isfinite(slopes)], cell)
    if abs(cell.default - means[:, 0].mean()) >= SMALLEST_GAP:
        row |= _closed(means, moved, cell.default, cell)
    return row


def _with_interval(name: str, values: Floats, cell: Cell) -> dict[str, float]:
    low, high = mean_interval(values, name, *cell.keys.values())
    return {name: float(values.mean()) if len(values) else float("nan"), f"{name}_low": low, f"{name}_high": high}


def _closed(means: Floats, moved: Floats, default: float, cell: Cell) -> dict[str, float]:
    def share(drawn: Floats) -> Floats:
        return np.asarray(drawn[..., 0].mean(axis=1) / np.abs(default - drawn[..., 1].mean(axis=1)))

    pairs = np.column_stack([moved, means[:, 0]])
    low, high = interval(pairs, share, "closed", *cell.keys.values())
    return {"closed": float(share(pairs[None])[0]), "closed_low": low, "closed_high": high}


def slope(means: Floats) -> Floats:
    """Least-squares slope of each row over its columns 0, 1, 2, ..., ignoring NaN: [[2, 3, 4]] gives [1]."""
    rounds = np.where(np.isnan(means), np.nan, np.arange(means.shape[1], dtype=float))
    centred = rounds - np.nanmean(rounds, axis=1, keepdims=True)
    deviations = means - np.nanmean(means, axis=1, keepdims=True)
    return np.asarray(np.nansum(centred * deviations, axis=1) / np.nansum(centred**2, axis=1))
