"""Does a party cross the Default's rating? (Taubenfeld et al.: partisan lines never do.)"""

from __future__ import annotations

from typing import Any

import pandas as pd

from parley.analysis.contrasts import OWN
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics import _cells
from parley.analysis.metrics._cells import DEFAULT, Cell
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.model.titles import join_phrases

ORDER = 4
TITLE = "Crossing of the Default's rating"
NOTE = (
    "A party crosses the Default's rating if the party starts on one side of this rating and ends on the other side. The end "
    "beyond the Default's rating is the distance in points at the end; a negative number means that the party did not cross. If "
    "a Default sits in the room, Parley uses the Default's rating after the same round, and otherwise the Default's first "
    "rating. First crossing is the first round after which the party's mean is beyond the Default's rating. Rooms beyond is the "
    "share of rooms that end at least half a point beyond the Default's rating (Wilson interval)."
)
LABELS = {
    "rooms": "rooms", "beyond": "end, beyond the rating", "round": "first crossing", "share": "rooms beyond",
    "reason": "reason if missing",
}  # fmt: skip
MARGIN = 0.5


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, party: measure, rooms, missing (agents), default (before), round, beyond, share, reason."""
    rows = [_row(cell) for cell in _cells.cells(tables) if cell.party != DEFAULT]
    kinds = _cells.CELL_COLUMNS | {"default": "float64", "round": "Int64"} | _cells.spans("beyond", "share")
    return _cells.frame(rows, **kinds, reason="object")


def headline(crossings: pd.DataFrame) -> str:
    beyond, short, uncertain = _cells.count_signs(crossings, "beyond")
    if not beyond + short:
        asked = "whether any party crossed the model's own opinion and ended on its other side"
        return unknown_sentence(asked, _why(crossings)).replace("the Default's first rating", OWN)
    ends = [
        (beyond, f"crossed {OWN} and ended on its other side"),
        (short, f"ended before {OWN}"),
        (uncertain, f"may have ended on either side of {OWN}"),
    ]
    parts = join_phrases([f"{number} {where}" for number, where in ends if number])
    return f"Of {count_phrase(len(crossings), 'party')}, {parts}. Each party is counted once per topic and group."


def _why(crossings: pd.DataFrame) -> str:
    """Return why no party is known to have ended past the line, or short of it."""
    reasons = list(dict.fromkeys(crossings["reason"].dropna()))
    return "; ".join(reasons) or "no difference is distinguishable from zero"


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    side, reason = _cells.default_direction(cell, means)
    row = _cells.cell_columns(cell, means, missing) | {"default": cell.default, "reason": reason}
    if side is None:
        return row
    distance = side * (means - (cell.default if cell.line is None else cell.line.reindex(means.index)))
    last = distance.iloc[:, -1].dropna().to_numpy(dtype=float)
    row["rooms"] = len(last)
    if not len(last):
        return row | {"reason": "the Default has no last rating"}
    later = distance.loc[:, distance.columns > 0].mean()
    crossed = later.index[later > 0]
    row["round"] = int(crossed[0]) if len(crossed) else None
    beyond = int((last >= MARGIN).sum())
    return row | _cells.mean_columns("beyond", last) | _cells.share_columns("share", beyond, len(last))
