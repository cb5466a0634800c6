"""How far and how fast each party moved toward the Default, with intervals over rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats, interval, mean_interval, slope
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics._cells import DEFAULT, Cell, bounded, cells, frame, spans, toward, with_interval
from parley.analysis.tables import Tables

ORDER = 2
TITLE = "Drift toward the Default"
NOTE = (
    "Drift is the change of a room's mean from the first to the last survey, in points, positive toward the level that the "
    "Default had before the debates (taken as known: its own error is not in the intervals). This level is the mean over "
    "the Defaults of the same group; where none is seated, over those who sit with the same party in another group; else "
    "over those asked outside. Drift toward this level is no proof of the model's own pull: agents who influence each other "
    "meet near it too. Share of gap closed is drift over the gap at the start, from 0 to 1: it is left empty for a gap below "
    "1 point and where a line moves away or ends beyond, and its interval ends at 0 and 1. Per round is the least-squares "
    "slope."
)
CAUTION = (
    "This does not show that the model pulls opinions its way: agents who only influence each other meet there as well. "
    "`python run.py audit --llm MODEL` measures the two apart."
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
SMALLEST_GAP = 1.0
"""Below this gap (points) the share closed is not reported: it would divide by noise."""


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: measure (`expected` or `rating`), rooms, missing (agents left out), default, start, end,
    drift, closed, rate, reason.
    """
    kinds = {
        "measure": "object",
        "rooms": "int64",
        "missing": "int64",
        "default": "float64",
        "start": "float64",
        "end": "float64",
    }
    rows = [line(cell) for cell in cells(tables) if cell.party != DEFAULT]
    return frame(rows, **kinds, **spans("drift", "closed", "rate"), reason="object")


def headline(drifts: pd.DataFrame) -> str:
    toward_it, away = int((drifts["drift_low"] > 0).sum()), int((drifts["drift_high"] < 0).sum())
    found = (
        f"Of {count_phrase(len(drifts), 'partisan line')} (one per topic, group and "
        f"party), {toward_it} moved toward the Default's "
        f"level and {away} away from it by more than chance; for {len(drifts) - toward_it - away} this is not certain."
    )
    return f"{found} {CAUTION}" if toward_it else found


def line(cell: Cell) -> dict[str, Any]:
    """The row of one topic, group and party."""
    rooms, missing = cell.complete()
    side, reason = toward(cell, rooms)
    row = {**cell.keys, "measure": cell.measure, "rooms": len(rooms), "missing": missing, "default": cell.default}
    row |= {"reason": reason}
    if rooms.empty:
        return row
    means = rooms.to_numpy(dtype=float)
    row |= {"start": means[:, 0].mean(), "end": means[:, -1].mean()}
    if side is None or cell.default is None:
        return row
    moved, gaps = side * (means[:, -1] - means[:, 0]), side * (cell.default - means[:, 0])
    row |= _mean("drift", moved) | _mean("rate", side * slope(means, cell.rounds))
    return row | _closed(moved, gaps)


def _mean(name: str, values: Floats) -> dict[str, float]:
    return with_interval(name, float(values.mean()), mean_interval(values))


def _closed(moved: Floats, gaps: Floats) -> dict[str, Any]:
    if gaps.mean() < SMALLEST_GAP:
        return {"reason": f"share: less than {SMALLEST_GAP:g} point from the Default's level"}
    share = float(moved.mean() / gaps.mean())
    outside = "share: ends beyond the Default's level" if share > 1 else "share: moves away from the Default's level"
    return bounded("closed", share, interval(np.column_stack([moved, gaps]), ratio), outside)


def ratio(drawn: Floats) -> Floats:
    """Mean of the first column over mean of the second, by draw; not finite where the second is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(drawn[..., 0].mean(axis=1) / drawn[..., 1].mean(axis=1))
