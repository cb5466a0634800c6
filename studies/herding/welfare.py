"""Welfare: how many people choose the right option, how many of their own signals were right, and what a planner gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import RoomMeasurement, each_row, room_means
from parley.analysis.statistics.intervals import FEWEST, POSITIVE, SHARE, SIGNED
from parley.analysis.tables import Tables

from .law import BAYESIAN
from .optimum import aimed_at
from .periods import Period, periods, rules, theory

ORDER = 32
TITLE = "Welfare"
NOTE = (
    "The column *right* has the share of right choices, and *signals right* the share of private signals that pointed to the "
    "right option. Gain (right minus signals right) is what people gain from each other; the gain is exactly 0 if all people "
    "follow their own signals. Payoff is the share of people who choose as the planner wants, minus the cost of precision per "
    "person. The column *Bayesians* has the share of right choices expected of Bayesians, computed exactly if no planner varies "
    "the precision. Periods are averaged within rooms."
)
LABELS = {
    "rooms": "rooms", "right": "right", "alone": "signals right", "gain": "gain", "payoff": "payoff", "cost": "cost",
    "bayes": "right, Bayesians", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "decisions"
MEASURES = ("right", "alone", "gain", "payoff", "cost")
BOUNDS = {"right": SHARE, "alone": SHARE, "gain": SIGNED, "cost": POSITIVE}
NO_ACT = "no readable choice"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (choices), right, alone, gain, payoff, cost, reason, bayes."""
    rows = [_row(keys, values) for keys, values in by_room(tables).items()]
    expected = theory(tables, BAYESIAN)
    return room_means(rows, MEASURES, by=(), bounds=BOUNDS).assign(bayes=expected.correct if expected else np.nan)


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["right"]):
        return "No choice could be read."
    sentence = f"{row['right']:.0%} of choices were right, and {row['alone']:.0%} of private signals"
    if row["rooms"] >= FEWEST and row["gain"] == 0 and np.isnan(row["gain_low"]):
        return f"People gain nothing from each other: {sentence}."
    if np.isnan(row["gain_low"]):
        return f"{sentence}; whether people gain from each other is unknown."
    if row["gain_low"] > 0:
        return f"People gain from each other: {sentence}."
    if row["gain_high"] < 0:
        return f"People lose by looking at each other: {sentence}."
    return f"Whether people gain from each other is uncertain: {sentence}."


def by_room(tables: Tables) -> dict[tuple[str, str, str], tuple[int, dict[str, float]]]:
    """Return for each topic, group and room the number of missing choices, and each measure (NaN: no choice could be read)."""
    rooms: dict[tuple[str, str, str], list[Period]] = defaultdict(list)
    for period in periods(tables):
        rooms[period.topic, period.group, period.room].append(period)
    setting = rules(tables) if rooms else None
    return {
        keys: (sum(period.missing for period in of), _measures(of, setting.aim, setting.cost, setting.precision))
        for keys, of in rooms.items()
        if setting
    }


def _measures(of: Sequence[Period], aim: str, cost: float, base: float) -> dict[str, float]:
    shares = []
    for period in of:
        if acts := period.choices:
            right = np.mean([choice.act == period.state for choice in acts])
            alone = np.mean([choice.signal == period.state for choice in acts])
            aimed = np.mean([aimed_at(choice.act, period.state, aim) for choice in acts])
            paid = np.mean([cost * abs(choice.precision - base) for choice in acts])
            shares.append([right, alone, right - alone, aimed - paid, paid])
    means = np.mean(shares, axis=0) if shares else np.full(len(MEASURES), np.nan)
    return dict(zip(MEASURES, map(float, means), strict=True))


def _row(keys: tuple[str, str, str], values: tuple[int, dict[str, float]]) -> dict[str, Any]:
    missing, measures = values
    row: dict[str, Any] = dict(zip(("topic", "group", "room"), keys, strict=True)) | {"missing": missing}
    none = np.isnan(measures["right"])
    return row | {name: RoomMeasurement(None, NO_ACT) if none else RoomMeasurement(measures[name]) for name in MEASURES}
