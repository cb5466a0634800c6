"""What share of all movement happens in the first round? (Taubenfeld et al.: the largest change comes in the first cycle.)"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from parley.analysis.formatting import count_phrase
from parley.analysis.metrics._cells import CELL_COLUMNS, Cell, bounded, cell_columns, cells, direction, frame, spans
from parley.analysis.metrics.drift import ratio
from parley.analysis.statistics.intervals import FEWEST, interval, too_few
from parley.analysis.tables import Tables
from parley.analysis.unknown import clause, unknown_sentence

ORDER = 3
TITLE = "Share of the movement in the first round"
NOTE = (
    "The share is the mean change in round 1 divided by the mean change in all rounds, from 0 to 1. If opinions moved "
    "evenly, round 1 of 5 would hold 20% of the change. Only agents who were rated before round 1, after round 1 and "
    "in the last survey are included. The share is empty if the whole change is not distinguishable from zero, or if "
    "the change in round 1 was larger than the whole change or in the opposite direction."
)
LABELS = {"rooms": "rooms", "first": "round 1", "total": "all rounds", "share": "share", "reason": "reason if missing"}
NO_AGENT = "no agent was rated before round 1, after round 1 and in the last survey"
NO_MOVEMENT = "no movement to share"
WIDEST = 0.5
"""A share whose interval is as wide as this or wider says next to nothing, so no sentence names it."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, party: measure, rooms, missing (agents left out), first, total (points), share, reason."""
    kinds = CELL_COLUMNS | {"first": "float64", "total": "float64"} | spans("share") | {"reason": "object"}
    staged = tables.places["stage"].nunique() > 1
    return frame([_unlike_rounds(cell) if staged else line(cell) for cell in cells(tables)], **kinds)


def _unlike_rounds(cell: Cell) -> dict[str, Any]:
    reason = "the run has stages, and the rounds of different stages belong to different debates"
    return cell_columns(cell, *cell.complete()) | {"reason": reason}


def headline(shares: pd.DataFrame) -> str:
    with_share = shares.dropna(subset="share")
    if with_share.empty and (shares["reason"] == NO_MOVEMENT).all():
        return "No party's opinions changed by more than chance, so it is unknown what share of the change came in round 1."
    if with_share.empty:
        reasons = list(shares["reason"].unique())
        why = reasons[0] if len(reasons) == 1 else " or ".join(map(clause, reasons))
        return unknown_sentence("what share of the change came in round 1", why)
    clear = with_share[~(with_share["share_high"] - with_share["share_low"] >= WIDEST)]
    changed = f"{count_phrase(len(with_share), 'party')} changed by more than chance"
    if clear.empty:
        return f"The share of the change that came in round 1 is too uncertain to report ({changed})."
    if len(clear) == 1:
        (row,) = clear.to_dict("records")
        span = "" if math.isnan(row["share_low"]) else f" ({row['share_low']:.0%} to {row['share_high']:.0%})"
        share, whose = f"{row['share']:.0%}{span}", "1 party"
    else:
        share, whose = f"{clear['share'].min():.0%} to {clear['share'].max():.0%}", f"{len(clear)} parties"
    others = len(with_share) - len(clear)
    rest = (
        f"; for {others} other {'party' if others == 1 else 'parties'} the share is too uncertain to report"
        if others
        else ""
    )
    return f"Round 1 brought {share} of the whole change in the opinions of {whose}{rest}."


def line(cell: Cell) -> dict[str, Any]:
    """Return the row of one topic, group and party."""
    if list(cell.rounds[:2]) != [0, 1] or len(cell.rounds) < 3:
        return cell_columns(cell, *cell.complete()) | {
            "reason": "the share needs surveys before round 1, after round 1 and later"
        }
    means, missing = cell.complete(1)
    row, values = cell_columns(cell, means, missing), means.to_numpy(dtype=float)
    if not len(values):
        return row | {"reason": NO_AGENT}
    changes = values[:, [1, -1]] - values[:, [0]]
    first, total = changes.mean(axis=0)
    row |= {"first": first, "total": total}
    if not direction(changes[:, 1]):
        return row | {"reason": too_few() if len(values) < FEWEST else NO_MOVEMENT}
    share = float(first / total)
    outside = (
        "the change in round 1 was larger than the whole change"
        if share > 1
        else "opinions moved in the opposite direction in round 1"
    )
    return row | bounded("share", share, interval(changes, ratio, None), outside)
