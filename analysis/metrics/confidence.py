"""Private confidence in one's own position (0-100), if the scenario asks the further question `confidence`.

Source: "When Two LLMs Debate, Both Think They'll Win" (2025): bets rise from round to round, and in the end both sides
bet 75 or more, although only one of two opposite sides can be right. Departures: sides are not assigned here, so
several agents may be sure of the same; the unit is the room.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics import _cells
from parley.analysis.metrics._cells import Cell
from parley.analysis.tables import Tables

ORDER = 6
TITLE = "Confidence"
NOTE = (
    "The table shows means of rooms over agents rated in the first and the last survey. The column *sure* is the share of rooms "
    "in which all agents end with a confidence of 75 or more."
)
LABELS: dict[str, str] = {}
PROBE, SURE = "confidence", 75


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and party: rooms, missing (agents left out), start and end (0-100), escalation,
    whole (rooms in which every last rating could be read), sure (share of these), reason.
    """
    bets = tables.probes[tables.probes["probe"] == PROBE]
    as_attitudes = replace(tables, attitudes=bets.assign(attitude=bets["rating"], expected=np.nan))
    rows = [_row(cell) | _sure_columns(bets, cell) for cell in _cells.cells(as_attitudes)]
    kinds = _cells.COUNTS | {"start": "float64", "end": "float64"} | _cells.spans("escalation")
    return _cells.frame(rows, **kinds, whole="int64", **_cells.spans("sure"), reason="object")


def headline(table: pd.DataFrame) -> str:
    changes = table["escalation"].dropna()
    if changes.empty:
        return "No party has confidence ratings from two surveys, so it is unknown how confidence changed."
    rose, fell, _ = _cells.count_signs(table, "escalation")
    change = amount((changes.median(), np.nan, np.nan), HIGHER, "of 100 points", 1)
    return (
        f"Agents' confidence in their own position ended {change} than it began (median of "
        f"{count_phrase(len(changes), 'party')}). Confidence rose by more than chance in {rose} parties and fell in "
        f"{fell}; for {len(changes) - rose - fell} the direction is uncertain."
    )


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing}
    if means.empty:
        return row | {"reason": _cells.NO_AGENT}
    start, end = means.iloc[:, 0], means.iloc[:, -1]
    row |= {"start": start.mean(), "end": end.mean(), "reason": None}
    return row | _cells.mean_columns("escalation", (end - start).to_numpy(dtype=float))


def _sure_columns(bets: pd.DataFrame, cell: Cell) -> dict[str, Any]:
    """Return the share of sure rooms, of the rooms of the cell's topic and group whose last bets could all be read."""
    last = bets[(bets["topic"] == cell.topic) & (bets["group"] == cell.group) & (bets["round"] == cell.rounds[-1])]
    rooms = [ratings for _, ratings in last.groupby("room")["rating"] if ratings.notna().all()]
    sure = sum(bool((ratings >= SURE).all()) for ratings in rooms)
    return {"whole": len(rooms)} | _cells.share_columns("sure", sure, len(rooms))
