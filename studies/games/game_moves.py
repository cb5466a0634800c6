"""Moves of games: how much people send, return, put in or cooperate, and whether that changes over the game.

Source: Selten and Stoecker 1986 (cooperation that unravels).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, SCALE
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .played import ROOM, WHAT, amounts

ORDER = 40
TITLE = "Moves"
NOTE = (
    "Moves run from 0 to 10: points sent, points of every 10 returned, or points put in. A choice of A (cooperate) is 10, and a "
    "choice of B is 0. Players of a room are averaged. The columns `first` and `last` have the moves of the first and the last "
    "round. The column `change` is `last` minus `first`; with a change below 0, cooperation declines. Without an influence of "
    "time, the change is 0 on average. Selfish players of a game whose end is known make moves of 0 in every round."
)
LABELS = {
    "move": "move", "rooms": "rooms", "missing": "missing", "mean": "mean", "first": "first round", "last": "last round",
    "change": "change", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "moves"
MEASURES = ("mean", "first", "last", "change")
BOUNDS = dict.fromkeys(("mean", "first", "last"), SCALE)
UNREAD = "no readable move in the first or last round"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and kind of move: rooms, missing (moves), MEASURES, reason."""
    return room_means(by_room(tables), MEASURES, by=("move",), bounds=BOUNDS)


def by_room(tables: Tables) -> list[dict[str, Any]]:
    """Return the measurements of each room and kind of move."""
    rows = []
    final = int(tables.header.scenario["rounds"])
    for (*keys, move), move_amounts in amounts(tables).groupby([*ROOM, "move"], sort=False):
        row: dict[str, Any] = dict(zip((*ROOM, "move"), (*keys, move), strict=True))
        row["missing"] = int(move_amounts["value"].isna().sum())
        by_round = move_amounts.groupby("round")["value"].mean()
        first, last = by_round.get(1, np.nan), by_round.get(final, np.nan)
        for name, value in (("mean", by_round.mean()), ("first", first), ("last", last), ("change", last - first)):
            row[name] = RoomMeasurement(*((None, UNREAD) if np.isnan(value) else (float(value), None)))
        rows.append(row)
    return rows


def headline(table: pd.DataFrame) -> str:
    if table.empty:
        return "Players negotiate, so moves have no amounts."
    sentences = []
    for row in table.to_dict("records"):
        name, change = WHAT[row["move"]], f"{row['first']:.1f} in the first round and {row['last']:.1f} in the last"
        if np.isnan(row["change_low"]) and f"change: {NO_VARIATION}" in str(row["reason"]) and row["rooms"] >= FEWEST:
            sentences.append(f"In every room {name} changes by {row['change']:.1f} over the game.")
        elif np.isnan(row["change_low"]):
            sentences.append(unknown_sentence(f"whether {name} changes over the game", row["reason"] or "no interval"))
        elif row["change_high"] < 0:
            sentences.append(f"{name} falls over the game: {change}.")
        elif row["change_low"] > 0:
            sentences.append(f"{name} rises over the game: {change}.")
        else:
            sentences.append(f"{name} does not clearly change over the game: {change}.")
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)
