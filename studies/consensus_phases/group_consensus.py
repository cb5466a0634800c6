"""Consensus in groups with two answers: how far a group agrees at the end, on which side, and how soon all answer alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.rooms import RoomMeasurement, each_row, room_means
from parley.analysis.run_tables import environment_as
from parley.analysis.statistics.intervals import SHARE, SIGNED, Floats, is_few
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .environment import AGAINST, FOR, TwoAnswers

ORDER = 34
TITLE = "Consensus"
NOTE = (
    "Each answer for the claim counts 1, and each answer against the claim -1. Direction is the mean answer of a room after the "
    "last round. Agreement is the size of direction: 1 if all people answer alike, 0 if the room is divided equally. Agreement "
    "is also above 0 by chance. The column *expected by chance* is the mean agreement of an equally large room in which each "
    "person tosses a coin, computed exactly. The column *unanimous* has the share of rooms in which all people answer alike "
    "after the last round. A person whose answer could not be read keeps the person's last answer. A room is missing if a "
    "person never answered."
)
LABELS = {
    "rooms": "rooms", "agreement": "agreement", "chance": "expected by chance",
    "direction": "direction", "unanimous": "unanimous",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "sides"
MEASURES = ("agreement", "direction", "unanimous")
BOUNDS = {"agreement": SHARE, "direction": SIGNED, "unanimous": SHARE}
NO_ANSWER = "a person never answered"
MADE_UP = "people saw made-up numbers"


class GroupEnd(NamedTuple):
    """How a room ended: its mean answer (None: a person never answered), whether all answered alike in at least one
    round, and how many replies of how many could not be read.
    """

    topic: str
    group: str
    room: str
    repetition: int
    direction: float | None
    once: bool
    missing: int
    answers: int


def rules(tables: Tables) -> TwoAnswers:
    """Return the environment of a run, with its options."""
    return environment_as(TwoAnswers, tables.header.scenario["options"])


def group_ends(tables: Tables) -> list[GroupEnd]:
    """Return how each room ended, by the last readable answer of each person; of people who began with a side, this one."""
    begins, seats = rules(tables).begins, tables.agents.drop_duplicates("room").set_index("room")
    ends = []
    for room, rows in tables.sides.groupby("room", sort=False):
        held = rows.pivot(index="round", columns="agent", values="side").sort_index().ffill()
        held = held.fillna(begins) if begins != "alone" else held
        values = held.map({FOR: 1.0, AGAINST: -1.0}.get).to_numpy(dtype=float)
        direction = None if np.isnan(values[-1]).any() else float(values[-1].mean())
        once = bool((np.abs(values.mean(axis=1)) == 1).any())
        seat, missing = seats.loc[room], int(rows["side"].isna().sum())
        place = (seat["topic"], seat["group"], str(room), int(seat["repetition"]))
        ends.append(GroupEnd(*place, direction, once, missing, len(rows)))
    return ends


def chance_agreement(people: int) -> float:
    """Return the mean size of the mean answer of people who toss coins.

    >>> chance_agreement(2), chance_agreement(3)
    (0.5, 0.5)
    """
    from .theory import Curve, means, start

    coins: Floats = start(people, "alone", Curve(0.0, 0.0).alone)
    return float(coins @ np.abs(means(people)))


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (answers), agreement, direction, unanimous, reason, chance."""
    setting = rules(tables)
    rows = [_row(end, setting.told == "curve") for end in group_ends(tables)]
    return room_means(rows, MEASURES, by=(), bounds=BOUNDS).assign(chance=chance_agreement(setting.size))


def _row(end: GroupEnd, made_up: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"topic": end.topic, "group": end.group, "room": end.room, "missing": end.missing}
    if made_up or end.direction is None:
        return row | dict.fromkeys(MEASURES, RoomMeasurement(None, MADE_UP if made_up else NO_ANSWER))
    size = abs(end.direction)
    values = {"agreement": size, "direction": end.direction, "unanimous": float(size == 1)}
    return row | {name: RoomMeasurement(value) for name, value in values.items()}


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["agreement"]):
        return unknown_sentence("whether groups agree", row["reason"] or "no room has all answers")
    sizes = f"agreement is {row['agreement']:.2f} on average, and {row['chance']:.2f} in rooms of people who toss coins"
    if is_few(row["rooms"]) or np.isnan(row["agreement_low"]):
        unknown = "Whether groups agree by more than chance is unknown"
        return f"{unknown}: {sizes}, but rooms are too few or too alike for an interval."
    if row["agreement_low"] > row["chance"]:
        return f"Groups agree by more than chance: {sizes}."
    if row["agreement_high"] < row["chance"]:
        return f"Groups agree by less than chance: {sizes}."
    return f"It is not shown that groups agree by more than chance: {sizes}."
