"""Does a party cross the Default's line? (Taubenfeld et al.: partisan lines never do.)"""

from __future__ import annotations

from typing import Any

import pandas as pd

from parley.analysis.bootstrap import mean_interval, share_interval
from parley.analysis.metrics._cells import DEFAULT, Cell, cells, frame, spans, toward, with_interval
from parley.analysis.tables import Tables

ORDER = 4
TITLE = "Crossing of the Default's line"
NOTE = (
    "How far beyond the Default's line does the party end, seen from where it starts (points; negative: short of it)? The "
    "line is the Default of the same room and round where one is seated, else its level before the debates. First crossing is "
    "the first round after which the party's mean lies beyond the line, by however little. Rooms beyond is the share of rooms "
    "that end at least half a point beyond it (Wilson interval)."
)
LABELS = {
    "rooms": "rooms",
    "beyond": "end, beyond the line",
    "round": "first crossing",
    "share": "rooms beyond",
    "reason": "why empty",
}
MARGIN = 0.5


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: measure, rooms, missing (agents), default (before), beyond, round, share, reason."""
    kinds = {"measure": "object", "rooms": "int64", "missing": "int64", "default": "float64", "round": "Int64"}
    rows = [_row(cell) for cell in cells(tables) if cell.party != DEFAULT]
    return frame(rows, **kinds, **spans("beyond", "share"), reason="object")


def headline(crossings: pd.DataFrame) -> str:
    beyond, short = int((crossings["beyond_low"] > 0).sum()), int((crossings["beyond_high"] < 0).sum())
    return (
        f"{beyond} of {len(crossings)} partisan lines end beyond the Default's line by more than chance, {short} end short of "
        f"it; for {len(crossings) - beyond - short} this is not certain."
    )


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    side, reason = toward(cell, means)
    row = {**cell.keys, "measure": cell.measure, "rooms": len(means), "missing": missing, "default": cell.default}
    row |= {"reason": reason}
    if side is None:
        return row
    distance = side * (means - _line(cell, means))
    last = distance.iloc[:, -1].dropna().to_numpy(dtype=float)
    row["rooms"] = len(last)
    if not len(last):
        return row | {"reason": "the Default has no last rating"}
    later = distance.loc[:, distance.columns > 0].mean()
    crossed = later.index[later > 0]
    count = int((last >= MARGIN).sum())
    return (
        row
        | {"round": int(crossed[0]) if len(crossed) else None}
        | with_interval("beyond", float(last.mean()), mean_interval(last))
        | with_interval("share", count / len(last), share_interval(count, len(last)))
    )


def _line(cell: Cell, means: pd.DataFrame) -> pd.DataFrame | float | None:
    return cell.default if cell.line is None else cell.line.reindex(means.index)
