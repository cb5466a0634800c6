"""The choices of people one after another, in words: place, signal, choice, and where a Bayesian would follow the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from parley.analysis.tables import Tables

from .periods import Period, cascade_start, periods

AGAINST = "*"
"""Marks a choice against the own signal."""


class ChoiceRow(NamedTuple):
    """One person of a period. text: what it did; right: whether the choice is right (None: no readable choice)."""

    agent: int
    position: int
    text: str
    cell: str
    right: bool | None


class PeriodRows(NamedTuple):
    """One period of a room, in the order of choosing. follows: from which place on a Bayesian follows the others, in words."""

    round: int
    state: str
    prior: float
    rows: tuple[ChoiceRow, ...]
    follows: tuple[int, str] | None

    @property
    def result(self) -> str:
        """How many chose right: `7 of 10 chose right`; a choice that could not be read is not counted."""
        read = [row.right for row in self.rows if row.right is not None]
        missing = len(self.rows) - len(read)
        return f"{sum(read)} of {len(read)} chose right" + (f", {missing} missing" if missing else "")


def room_periods(tables: Tables, room: str) -> list[PeriodRows]:
    """Return the periods of a room, in order."""
    return [_period(period) for period in periods(tables) if period.room == room]


def _period(period: Period) -> PeriodRows:
    rows = period.table.sort_values("position").to_dict("records")
    made = tuple(
        ChoiceRow(int(row["agent"]), int(row["position"]), choice_words(row), _cell(row), _is_right(row))
        for row in rows
    )
    return PeriodRows(int(rows[0]["round"]), period.state, period.prior, made, _follows(period, rows))


def _follows(period: Period, rows: list[dict[Any, Any]]) -> tuple[int, str] | None:
    """Return the place in the order, and the option that a Bayesian chooses there whatever its signal; None without a cascade."""
    place, side = cascade_start(period)
    read = [row for row in rows if isinstance(row["act"], str)]
    if not side or place >= len(read):
        return None
    return int(read[place]["position"]), side


def choice_words(row: Mapping[Any, Any]) -> str:
    """Return what a person did.

    >>> row = {"act": "A", "signal": "B", "precision": 0.7, "state": "A", "probability": 0.62, "reason": None, "raw": "A"}
    >>> choice_words(row)
    'chose A, against its own signal B (right 70 times in 100). Right. Probability of A: 0.62.'
    """
    signal = f"own signal {row['signal']} (right {100 * row['precision']:.0f} times in 100)"
    if not isinstance(row["act"], str):
        raw = f" It replied: “{row['raw']}”" if isinstance(row["raw"], str) else ""
        return f"no readable choice ({row['reason']}), {signal}.{raw}"
    way = "as" if row["act"] == row["signal"] else "against"
    probability = f" Probability of A: {row['probability']:.2f}." if pd.notna(row["probability"]) else ""
    right = "Right" if row["act"] == row["state"] else "Wrong"
    return f"chose {row['act']}, {way} its {signal}. {right}.{probability}"


def _cell(row: Mapping[Any, Any]) -> str:
    if not isinstance(row["act"], str):
        return "–"
    return row["act"] if row["act"] == row["signal"] else f"{row['act']}{AGAINST}"


def _is_right(row: Mapping[Any, Any]) -> bool | None:
    return bool(row["act"] == row["state"]) if isinstance(row["act"], str) else None
