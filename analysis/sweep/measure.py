"""What is measured of one cell, from its record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.analysis.load import Tables, load
from parley.analysis.metrics._cells import KEYS, NO_AGENT, Cell, cells
from parley.analysis.wording import tally
from parley.model.events import Header

BY = [*KEYS, "round"]


class Measured(NamedTuple):
    """A cell: its header, its attitudes by topic, group, party and round, and its changes by topic, group and party."""

    header: Header
    attitudes: pd.DataFrame
    changes: pd.DataFrame


def measured(run: Path) -> Measured:
    """Measure a finished run folder."""
    tables = load(run)
    own = tables.attitudes["probe"] == tables.header.scenario["probe"]  # private deliberations rate statements too
    tables = replace(tables, attitudes=tables.attitudes[own])
    return Measured(tables.header, attitudes(tables), changes(tables))


def attitudes(tables: Tables) -> pd.DataFrame:
    """One row a topic, group, party and round: rooms (rated), ratings, missing, attitude, sd, reason.

    attitude: mean over rooms (0-10), agents of a room averaged first; sd: between rooms; reason: why ratings are missing.
    """
    ratings = tables.attitudes
    by = ratings.groupby(BY, sort=False)
    rooms = ratings.groupby([*BY, "room"], sort=False)["attitude"].mean().groupby(level=BY, sort=False)
    found = rooms.agg(rooms="count", attitude="mean", sd="std")
    found["ratings"], found["missing"] = by.size(), by.size() - by["attitude"].count()
    reasons = ratings[ratings["attitude"].isna()].groupby(BY, sort=False)["reason"].agg(tally)
    found["reason"] = reasons.reindex(found.index).astype("object") if len(reasons) else None
    return found.reset_index()[[*BY, "rooms", "ratings", "missing", "attitude", "sd", "reason"]]


def changes(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: measure (`expected` or `rating`), rooms, missing (agents left out), start,
    end, change, sd (of the change, between rooms), default, gap, reason.

    Over the agents rated first and last (0-10); default: the Default's level before the debates; gap: default less start.
    """
    rows = [_change(cell) for cell in cells(tables)] if len(tables.attitudes) else []
    kinds = {
        "measure": "object",
        "rooms": "int64",
        "missing": "int64",
        **dict.fromkeys(NUMBERS, "float64"),
        "reason": "object",
    }
    return pd.DataFrame(rows, columns=[*KEYS, *kinds]).astype(dict.fromkeys(KEYS, "object") | kinds)


NUMBERS = ("start", "end", "change", "sd", "default", "gap")


def _change(cell: Cell) -> dict[str, Any]:
    rooms, missing = cell.complete()
    row: dict[str, Any] = {
        **cell.keys,
        "measure": cell.measure,
        "rooms": len(rooms),
        "missing": missing,
        "default": cell.default,
    }
    if rooms.empty:
        return row | {"reason": NO_AGENT}
    sd = float((rooms.iloc[:, -1] - rooms.iloc[:, 0]).std(ddof=1))
    start, end = float(rooms.iloc[:, 0].mean()), float(rooms.iloc[:, -1].mean())
    gap = None if cell.default is None else cell.default - start
    return row | {"start": start, "end": end, "change": end - start, "sd": sd, "gap": gap, "reason": cell.lacks}
