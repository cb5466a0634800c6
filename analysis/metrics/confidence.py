"""Private confidence in the own position (0-100), where the probe `confidence` is among the further ones.

Source: "When Two LLMs Debate, Both Think They'll Win" (2025): bets rise from round to round, and in the end both sides bet 75 or
more, which two sides of one question cannot both be right in. Departures: agreement may move here (their sides are assigned), so
that several may be sure of the same; the unit is the room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import mean_interval, share_interval
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics._cells import NO_AGENT, Cell, cells, frame, spans, with_interval
from parley.analysis.tables import Tables

ORDER = 6
TITLE = "Confidence"
NOTE = "Room means of agents rated first and last; sure: the share of rooms in which everybody ends at 75 or more."
LABELS: dict[str, str] = {}
PROBE, SURE = "confidence", 75


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: rooms, missing (agents left out), start and end (0-100), escalation, whole (rooms in
    which everybody's last rating could be read), sure (of these), reason.
    """
    here = tables.probes[tables.probes["probe"] == PROBE]
    bets = replace(tables, attitudes=here.assign(attitude=here["rating"], expected=np.nan))
    kinds = {"rooms": "int64", "missing": "int64", "start": "float64", "end": "float64"}
    rows = [_row(cell) | _sure(here, cell) for cell in cells(bets)]
    return frame(rows, **kinds, **spans("escalation"), whole="int64", **spans("sure"), reason="object")


def headline(found: pd.DataFrame) -> str:
    changes = found["escalation"].dropna()
    if changes.empty:
        return "How confidence changed cannot be told for any line."
    rose, fell = int((found["escalation_low"] > 0).sum()), int((found["escalation_high"] < 0).sum())
    return (
        f"Confidence in the own position changed by {changes.median():+.1f} of 100 "
        f"(median of {count_phrase(len(changes), 'line')}): "
        f"it rose by more than chance in {rose}, fell in {fell}; for {len(changes) - rose - fell} this is not certain."
    )


def _row(cell: Cell) -> dict[str, Any]:
    means, missing = cell.complete()
    row: dict[str, Any] = {**cell.keys, "rooms": len(means), "missing": missing}
    if means.empty:
        return row | {"reason": NO_AGENT}
    start, end = means.iloc[:, 0], means.iloc[:, -1]
    change = (end - start).to_numpy(dtype=float)
    ends = mean_interval(change)
    row |= {"start": start.mean(), "end": end.mean(), "reason": None}
    return row | with_interval("escalation", float(change.mean()), ends)


def _sure(bets: pd.DataFrame, cell: Cell) -> dict[str, Any]:
    """Of the rooms of a cell's topic and group in which everybody's last bet could be read."""
    rooms = list(_last(bets, cell))
    sure = sum(bool((ratings >= SURE).all()) for ratings in rooms)
    share = sure / len(rooms) if rooms else float("nan")
    return {"whole": len(rooms)} | with_interval("sure", share, share_interval(sure, len(rooms)))


def _last(bets: pd.DataFrame, cell: Cell) -> Iterator[pd.Series]:
    last = bets[(bets["topic"] == cell.topic) & (bets["group"] == cell.group) & (bets["round"] == cell.rounds[-1])]
    return (ratings for _, ratings in last.groupby("room")["rating"] if ratings.notna().all())
