"""Points of games: which share of the possible points people get together, and how unequal they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import RoomMeasurement, each_row, room_means
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, POSITIVE, SHARE
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .played import ROOM, rules
from .rules import most_points, selfish_points

ORDER = 41
TITLE = "Points"
NOTE = (
    "The column `share` has the points of all players of a room, divided by the most points that the players could get "
    "together. Rounds with a missing move are left out. The column `selfish` has this share if all players play only for "
    "their own points and know the end (the subgame-perfect equilibrium). The column `unequal` has the difference per round "
    "between the players with most and with fewest points."
)
LABELS = {
    "rooms": "rooms", "missing": "missing", "share": "share of points", "selfish": "selfish players", "unequal": "difference",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "outcomes"
MEASURES = ("share", "unequal")
BOUNDS = {"share": SHARE, "unequal": POSITIVE}
UNKNOWN = "no round has known points"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (rounds without known points), share, unequal, selfish, reason."""
    table = room_means(by_room(tables), MEASURES, by=(), bounds=BOUNDS)
    if table.empty:
        return table.assign(selfish=pd.Series(dtype=float))
    game = rules(tables)
    table["selfish"] = selfish_points(game.game, game.size) / most_points(game.game, game.size, game.factor)
    return table


def by_room(tables: Tables) -> list[dict[str, Any]]:
    """Return the measurements of each room; of a run without games none."""
    if tables.outcomes.empty:
        return []
    rows, game = [], rules(tables)
    most = most_points(game.game, game.size, game.factor)
    for keys, room_outcomes in tables.outcomes.groupby(ROOM, sort=False):
        row: dict[str, Any] = dict(zip(ROOM, keys, strict=True))
        due = room_outcomes[room_outcomes["ended"] == 1] if game.game == "negotiation" else room_outcomes
        with_points = due[due["points"].notna()]
        row["missing"] = due["round"].nunique() - with_points["round"].nunique()
        if with_points.empty:
            rows.append(row | dict.fromkeys(MEASURES, RoomMeasurement(None, UNKNOWN)))
            continue
        means = with_points.groupby("agent")["points"].mean()
        row["share"] = RoomMeasurement(float(with_points.groupby("round")["points"].sum().mean() / most))
        rows.append(row | {"unequal": RoomMeasurement(float(means.max() - means.min()))})
    return rows


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["share_low"]) and row["rooms"] >= FEWEST and f"share: {NO_VARIATION}" in str(row["reason"]):
        return f"In every room people get {row['share']:.0%} of the possible points; selfish players get {row['selfish']:.0%}."
    if np.isnan(row["share_low"]):
        return unknown_sentence("whether people get more points than selfish players", row["reason"] or "no interval")
    size = f"{row['share']:.0%} of the possible points; selfish players get {row['selfish']:.0%}"
    if row["share_low"] > row["selfish"]:
        return f"People get more points than selfish players: {size}."
    if row["share_high"] < row["selfish"]:
        return f"People get fewer points than selfish players: {size}."
    return f"People do not clearly get more or fewer points than selfish players: {size}."
