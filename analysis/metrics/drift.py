"""How far and how fast does each party move toward the Default's first rating?

Source: Taubenfeld et al. 2024.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics import _cells
from parley.analysis.metrics._cells import DEFAULT, Cell, mean_columns
from parley.analysis.statistics.intervals import Floats, interval, slope
from parley.analysis.tables import Tables

ORDER = 2
TITLE = "Drift toward the Default"
NOTE = (
    "Drift is the movement of a room's mean from the first to the last survey, in points: positive toward the Default's first "
    "rating, negative away from this rating. The Default's first rating is the mean rating of the Defaults of the same group "
    "before the debates. If the group has no Default, Parley uses the Defaults of another group with the same parties, or else "
    "Defaults that do not debate. The intervals do not include the error of the Default's first rating. Drift does not prove "
    "that the model pulls opinions, because agents who influence each other also meet near the Default's first rating. Share of "
    "gap closed is drift divided by the gap at the start, from 0 to 1. The share of gap closed is empty if the drift is not "
    "distinguishable from zero, if the gap is below 1 point, or if a party moves away or ends beyond the Default's first "
    "rating. The column *per round* is the mean of the agents' least-squares slopes."
)
LABELS = {
    "rooms": "rooms", "default": "Default", "start": "start", "end": "end", "drift": "drift",
    "closed": "share of gap closed", "rate": "per round", "reason": "reason if missing",
}  # fmt: skip
AXIS = (0.0, 10.0)
SMALLEST_GAP = 1.0
"""Gap (points) below which the share closed is not reported: it would divide by noise."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and party: measure (`expected` or `rating`), rooms, missing (agents left out),
    default, start, end, drift, closed, rate, reason.
    """
    rows = [line(cell) for cell in _cells.cells(tables) if cell.party != DEFAULT]
    levels = dict.fromkeys(("default", "start", "end"), "float64")
    kinds = _cells.CELL_COLUMNS | levels | _cells.spans("drift", "closed", "rate")
    return _cells.frame(rows, **kinds, reason="object")


def line(cell: Cell) -> dict[str, Any]:
    """Return the row of one topic, group and party."""
    rooms, missing = cell.complete()
    side, reason = _cells.default_direction(cell, rooms)
    row = _cells.cell_columns(cell, rooms, missing) | {"default": cell.default, "reason": reason}
    if rooms.empty:
        return row
    means = rooms.to_numpy(dtype=float)
    row |= {"start": means[:, 0].mean(), "end": means[:, -1].mean()}
    if side is None or cell.default is None:
        return row
    moved, gaps = side * (means[:, -1] - means[:, 0]), side * (cell.default - means[:, 0])
    row |= mean_columns("drift", moved) | mean_columns("rate", side * room_slopes(cell))
    return row | _closed_columns(moved, gaps)


def bounds(cell: Cell) -> tuple[float, float]:
    """Return the lowest and the highest mean movement up the axis that any values of the missing ratings could give."""
    ends = cell.attitudes.iloc[:, [0, -1]]
    low, high = (ends.fillna(end).groupby(level="room").mean().mean().to_numpy(dtype=float) for end in AXIS)
    return float(low[1] - high[0]), float(high[1] - low[0])


def room_slopes(cell: Cell) -> Floats:
    """Return the mean slope of the agents of each room, in points per round, over the agents rated first and last."""
    rated = cell.rated()
    slopes = pd.Series(slope(rated.to_numpy(dtype=float), cell.rounds), rated.index)
    of_rooms: Floats = slopes.groupby(level="room", sort=False).mean().to_numpy(dtype=float)
    return of_rooms


def _closed_columns(moved: Floats, gaps: Floats) -> dict[str, Any]:
    if not _cells.direction(moved):
        return {"reason": "share: drift is not distinguishable from zero"}
    if gaps.mean() < SMALLEST_GAP:
        return {"reason": f"share: less than {SMALLEST_GAP:g} point from the Default's first rating"}
    share = float(moved.mean() / gaps.mean())
    outside = f"share: {'ends beyond' if share > 1 else 'moves away from'} the Default's first rating"
    return _cells.bounded("closed", share, interval(np.column_stack([moved, gaps]), ratio, None), outside)


def ratio(drawn: Floats) -> Floats:
    """Return the mean of the first column over the mean of the second, by draw; not finite where the second is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(drawn[..., 0].mean(axis=1) / drawn[..., 1].mean(axis=1))
