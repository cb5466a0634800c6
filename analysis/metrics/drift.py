"""How far and how fast each party moved toward the Default, with bootstrap intervals over rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval, mean_interval
from analysis.gaps import slope
from analysis.load import Tables
from analysis.metrics._cells import DEFAULT, Cell, cells, frame, spans, toward, with_interval
from analysis.wording import counted

ORDER = 2
TITLE = "Drift toward the Default"
NOTE = (
    "Drift is the change of the room's mean from the first to the last survey, in points, positive toward the level that the "
    "Default had before the debates (taken as known: its own error is not in the intervals). This level is the mean over "
    "the Defaults of the same group; where none is seated, over those who sit with the same party in another group; else "
    "over those asked outside. Share of gap closed is drift over the gap at the start. Per round is the least-squares slope."
)
LABELS = {
    "rooms": "rooms",
    "default": "Default",
    "start": "start",
    "end": "end",
    "drift": "drift",
    "closed": "share of gap closed",
    "rate": "per round",
    "reason": "why empty",
}
SMALLEST_GAP = 0.5
"""Below this gap (points) the share closed is not reported: it would divide by noise."""


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, missing (agents left out), default, start, end, drift, closed, rate, reason."""
    kinds = {"rooms": "int64", "missing": "int64", "default": "float64", "start": "float64", "end": "float64"}
    rows = [_row(cell) for cell in cells(tables) if cell.party != DEFAULT]
    return frame(rows, **kinds, **spans("drift", "closed", "rate"), reason="object")


def headline(drifts: pd.DataFrame) -> str:
    toward_it, away = int((drifts["drift_low"] > 0).sum()), int((drifts["drift_high"] < 0).sum())
    return (
        f"Of {counted(len(drifts), 'partisan line')} (one a topic, group and party), {toward_it} moved toward the Default's "
        f"level, {away} away from it; for {len(drifts) - toward_it - away} it cannot be told."
    )


def _row(cell: Cell) -> dict[str, Any]:
    rooms, missing = cell.complete()
    side, reason = toward(cell, rooms)
    row = {**cell.keys, "rooms": len(rooms), "missing": missing, "default": cell.default, "reason": reason}
    if rooms.empty:
        return row
    means = rooms.to_numpy(dtype=float)
    row |= {"start": means[:, 0].mean(), "end": means[:, -1].mean()}
    if side is None or cell.default is None:
        return row
    moved, gaps = side * (means[:, -1] - means[:, 0]), side * (cell.default - means[:, 0])
    row |= _mean("drift", moved, cell) | _mean("rate", side * slope(means, cell.rounds), cell)
    return row | (_closed(moved, gaps, cell) if gaps.mean() >= SMALLEST_GAP else {})


def _mean(name: str, values: Floats, cell: Cell) -> dict[str, float]:
    return with_interval(name, float(values.mean()), mean_interval(values, name, *cell.keys.values()))


def _closed(moved: Floats, gaps: Floats, cell: Cell) -> dict[str, float]:
    pairs = np.column_stack([moved, gaps])
    return with_interval(
        "closed", float(moved.mean() / gaps.mean()), interval(pairs, ratio, "closed", *cell.keys.values())
    )


def ratio(drawn: Floats) -> Floats:
    """Mean of the first column over mean of the second, by draw; not finite where the second is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(drawn[..., 0].mean(axis=1) / drawn[..., 1].mean(axis=1))
