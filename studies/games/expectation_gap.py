"""Belief and behaviour: does a player do what it said before the game, and is that better than a guess from other players?

Source: Mannekote et al. 2025.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, SCALE, Floats
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .played import WHAT, amounts

ORDER = 42
TITLE = "What players say before the game, and what they do"
NOTE = (
    "The column `expected` has the move that a player predicts before the game for a round (`ahead`), of itself (`self`) or of "
    "the other players (`other`). The column `done` has the move that was made in the round. The column `gap` is `expected` "
    "minus `done`; with a gap above 0, players do less than expected. The column `error` has the distance between `expected` "
    "and `done`. The column `closer` has the distance of a prediction from moves in other rooms minus its distance from the "
    "player's own move, after the mean gap is subtracted. If predictions and moves are unrelated, `closer` is 0 on average. All "
    "numbers run from 0 to 10, and players of a room are averaged."
)
LABELS = {
    "about": "about", "move": "move", "ahead": "round", "rooms": "rooms", "missing": "missing", "expected": "said",
    "done": "done", "gap": "gap", "error": "distance", "closer": "closer", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "expectations"
MEASURES = ("expected", "done", "gap", "error", "closer")
BOUNDS = dict.fromkeys(("expected", "done", "error"), SCALE)
BY = ("about", "move", "ahead")
UNREAD = "no predicted round was played"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, about, move and ahead: rooms, missing (pairs without both), MEASURES, reason."""
    return room_means(by_room(tables), MEASURES, by=BY, bounds=BOUNDS)


def by_room(tables: Tables) -> list[dict[str, Any]]:
    """Return the measurements of each room, by BY."""
    rows = []
    for keys, same in pairs(tables).groupby(["topic", "group", *BY], sort=False):
        rooms, stated, done = (same[name].to_numpy() for name in ("room", "value", "done"))
        both = np.isfinite(stated) & np.isfinite(done)
        closer = closer_than_strangers(rooms[both], stated[both], done[both])
        for room in dict.fromkeys(rooms):
            in_room = rooms == room
            row: dict[str, Any] = dict(zip(("topic", "group", *BY), keys, strict=True)) | {"room": room}
            row["missing"] = int((in_room & ~both).sum())
            rows.append(row | _measured(stated[in_room & both], done[in_room & both], closer.get(room)))
    return rows


def _measured(stated: Floats, done: Floats, closer: float | None) -> dict[str, RoomMeasurement]:
    """Return the measures of the players of a room. closer: that of the room; None if there is no other room."""
    if not len(stated):
        return dict.fromkeys(MEASURES, RoomMeasurement(None, UNREAD))
    gaps = stated - done
    values = {"expected": stated.mean(), "done": done.mean(), "gap": gaps.mean(), "error": np.abs(gaps).mean()}
    measured = {name: RoomMeasurement(float(value)) for name, value in values.items()}
    return measured | {"closer": RoomMeasurement(closer, "no other room" if closer is None else None)}


def closer_than_strangers(rooms: NDArray[Any], stated: Floats, done: Floats) -> dict[Any, float]:
    """Return a value per room; their mean is by how much nearer what players say is to their own moves than to those of the
    other rooms, after the mean gap is taken off. Empty with fewer than two rooms.

    Each move is compared with the words of others as well as each word with the moves of others, so the value of a room is its
    part in the mean (Hoeffding's projection). Without the first, the interval would be too narrow wherever people do as they say.
    Source: Hoeffding 1948, Annals of Mathematical Statistics 19(3).

    >>> closer_than_strangers(np.array(["a", "b"]), np.array([2.0, 6.0]), np.array([2.0, 6.0]))
    {'a': 4.0, 'b': 4.0}
    """
    names, codes = np.unique(rooms.astype(str), return_inverse=True)
    if len(names) < 2:
        return {}
    distances = np.abs(stated[:, None] - (stated - done).mean() - done[None, :])
    member = np.eye(len(names))[codes]
    players = member.sum(axis=0)
    between = member.T @ distances @ member
    apart = players * (len(stated) - players)
    words, moves = ((between.sum(axis=axis) - np.diag(between)) / apart for axis in (1, 0))
    to_own = member.T @ np.diag(distances) / players
    values = words - to_own + moves - moves.mean()
    return dict(zip(names.tolist(), values.tolist(), strict=True))


def pairs(tables: Tables) -> pd.DataFrame:
    """Return the expectations with `done`: the player's move of the round, or the mean move of the others (NaN: missing)."""
    made = amounts(tables).dropna(subset=["value"])
    moves: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
    for room, round_, move, agent, value in made[["room", "round", "move", "agent", "value"]].itertuples(index=False):
        moves[room, round_, move][agent] = value
    done = []
    for expectation in tables.expectations.to_dict("records"):
        then = moves[expectation["room"], expectation["ahead"], expectation["move"]]
        same = [
            value
            for agent, value in then.items()
            if (agent == expectation["agent"]) == (expectation["about"] == "self")
        ]
        done.append(np.mean(same) if same else np.nan)
    return tables.expectations.assign(done=np.array(done, dtype=float))


def headline(table: pd.DataFrame) -> str:
    own_rows = table[table["about"] == "self"]
    sentences = []
    for row in own_rows.to_dict("records"):
        what = f"{WHAT[row['move']]} in round {row['ahead']}"
        if np.isnan(row["gap_low"]) and row["rooms"] >= FEWEST and f"gap: {NO_VARIATION}" in str(row["reason"]):
            size = (
                f"{abs(row['gap']):.1f} {'less than' if row['gap'] > 0 else 'more than'}" if row["gap"] else "exactly"
            )
            sentences.append(f"In every room {what} is {size} what players said.")
        elif np.isnan(row["gap_low"]):
            sentences.append(
                unknown_sentence(f"whether players do what they said of {what}", row["reason"] or "no interval")
            )
        elif row["gap_low"] > 0 or row["gap_high"] < 0:
            way = "less" if row["gap"] > 0 else "more"
            sentences.append(
                f"Players do {way} than they said of {what}: {row['done']:.1f}, and they said {row['expected']:.1f}."
            )
        else:
            size = f"{row['done']:.1f}, and they said {row['expected']:.1f}"
            sentences.append(f"Whether players do what they said of {what} is uncertain: {size}.")
    return " ".join(sentences)
