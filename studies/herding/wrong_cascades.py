"""Cascades: how often do people end up in one, and how often on the wrong option?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics._cells import spans
from parley.analysis.rooms import each_row
from parley.analysis.statistics.intervals import FEWEST, clustered_share_interval, too_few, with_interval
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .law import ALONE, BAYESIAN
from .periods import VARIES, Period, cascade_start, periods, theory

ORDER = 31
TITLE = "Cascades of choices"
NOTE = (
    "A cascade begins where a Bayesian who sees the choices so far would choose one option whatever its own signal says. A "
    "cascade that begins after the last person counts. A cascade is right or wrong if all later people choose the option of the "
    "cascade, and left if one person chooses the other option. Each number is a share of periods, with an interval that takes "
    "rooms as clusters. The column *followed* has the share of people in a cascade who choose the option of the cascade. The "
    "expected shares of wrong cascades are computed exactly, for Bayesians (Bikhchandani, Hirshleifer and Welch 1992) and for "
    "people who follow only their own signals."
)
LABELS = {
    "rooms": "rooms", "right": "right", "wrong": "wrong", "left": "left", "none": "no cascade", "followed": "followed",
    "wrong_bayes": "wrong, Bayesians", "wrong_alone": "wrong, signals alone", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "decisions"
ENDS = ("right", "wrong", "left", "none")


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, periods, missing (choices), the share of each end of a period, followed, the wrong
    cascades expected of Bayesians and of people who follow their own signals, reason.
    """
    all_periods = list(periods(tables))
    expected = {name: theory(tables, person) for name, person in (("bayes", BAYESIAN), ("alone", ALONE))}
    rows = []
    for keys in dict.fromkeys((period.topic, period.group) for period in all_periods):
        here = [period for period in all_periods if (period.topic, period.group) == keys]
        row = dict(zip(("topic", "group"), keys, strict=True)) | _row(here)
        rows.append(row | {f"wrong_{name}": outcome.wrong if outcome else np.nan for name, outcome in expected.items()})
        if None in expected.values():
            rows[-1]["reason"] = "; ".join(filter(None, [rows[-1]["reason"], f"expected of Bayesians: {VARIES}"]))
    kinds = {"topic": "object", "group": "object"} | dict.fromkeys(("rooms", "periods", "missing"), "int64")
    kinds |= spans(*ENDS, "followed") | dict.fromkeys(("wrong_bayes", "wrong_alone"), "float64") | {"reason": "object"}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if np.isnan(row["wrong_low"]):
        return unknown_sentence(
            "how often people end in a wrong cascade", "rooms are too few or too alike for an interval"
        )
    bayes = "" if np.isnan(row["wrong_bayes"]) else f"; for Bayesians {row['wrong_bayes']:.0%} is expected"
    return f"{row['wrong']:.0%} of periods ended in a wrong cascade ({row['wrong_low']:.0%} to {row['wrong_high']:.0%}){bayes}."


def end_of(period: Period) -> tuple[str, int, int]:
    """Return how a period ended (right, wrong, left, none), how many people were in a cascade, and how many followed it."""
    place, side = cascade_start(period)
    later = [choice.act == side for choice in period.choices[place:]]
    if not side:
        return "none", 0, 0
    end = "left" if not all(later) else "right" if side == period.state else "wrong"
    return end, len(later), sum(later)


def _row(here: list[Period]) -> dict[str, Any]:
    ends = pd.DataFrame(
        [(period.room, *end_of(period)) for period in here], columns=["room", "end", "inside", "followed"]
    )
    rooms = ends.groupby("room", sort=False)
    sizes = rooms.size().to_numpy(dtype=float)
    row: dict[str, Any] = {"rooms": len(sizes), "periods": len(ends), "missing": sum(period.missing for period in here)}
    for end in ENDS:
        hits = rooms["end"].apply(lambda of, end=end: (of == end).sum()).to_numpy(dtype=float)
        row |= with_interval(end, hits.sum() / sizes.sum(), clustered_share_interval(hits, sizes))
    inside, followed = (rooms[name].sum().to_numpy(dtype=float) for name in ("inside", "followed"))
    share = followed.sum() / inside.sum() if inside.sum() else np.nan
    row |= with_interval("followed", share, clustered_share_interval(followed, inside))
    return row | {"reason": too_few() if len(sizes) < FEWEST else None}
