"""What follows from the planted positions: do ratings of this model depend on who it plays, and how should it be asked?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.formatting import format_estimate, format_p
from parley.analysis.qualify.measures import MOST_LOST, main_rows
from parley.analysis.qualify.questions import REVERSED, WAYS

FOLLOWS, WEAK, IGNORES, UNREADABLE = "follows", "weakly", "ignores", "unreadable"
RANKS = (UNREADABLE, IGNORES, WEAK, FOLLOWS)
P = 0.01
"""The P of the null below which ratings are said to depend on the position."""
RIGHT, APART = 0.8, 2.0
"""The share of pairs ranked right, and the points between the ends, from which on ratings follow the position."""


class WayVerdict(NamedTuple):
    """What one way of asking gives.

    outcome: one of RANKS. reads_ends: whether the reversed scale is read as reversed; None: not asked, or too little was read.
    """

    way: str
    outcome: str
    right: float
    ends: float
    reads_ends: bool | None


def way_verdicts(order: pd.DataFrame) -> list[WayVerdict]:
    """Return the verdict on each way that was asked, in the order of WAYS."""
    rows = main_rows(order)
    turned = order[order["form"] == REVERSED].set_index("way")
    return [
        WayVerdict(
            way,
            _outcome(rows.loc[way]),
            float(rows.loc[way, "right"]),
            float(rows.loc[way, "ends"]),
            _turned(turned, way),
        )
        for way in WAYS
        if way in rows.index
    ]


def best_way(verdicts: list[WayVerdict]) -> WayVerdict:
    """Return the way to ask this model: the one whose ratings follow the position best; of equals the first of WAYS."""
    return max(
        verdicts, key=lambda one: (RANKS.index(one.outcome), np.nan_to_num(one.right) + np.nan_to_num(one.ends) / 20)
    )


def _outcome(row: pd.Series) -> str:
    if row["missing"] > MOST_LOST * row["answers"] or np.isnan(row["p"]):
        return UNREADABLE
    if row["p"] >= P or row["right"] < 0.5:
        return IGNORES
    return FOLLOWS if row["right"] >= RIGHT and row["ends"] >= APART else WEAK


def _turned(turned: pd.DataFrame, way: str) -> bool | None:
    if way not in turned.index or turned.loc[way, "missing"] > MOST_LOST * turned.loc[way, "answers"]:
        return None
    return bool(turned.loc[way, "right"] >= RIGHT)


def headline(model: str, order: pd.DataFrame) -> str:
    """Return whether the model can play people, in words for a layperson."""
    best = best_way(way_verdicts(order))
    row = main_rows(order).loc[best.way]
    figures = (
        f"{row['pairs']:.0f} pairs of people with different known positions, asked in {best.way}: "
        f"{format_estimate(100 * row['right'], 100 * row['right_low'], 100 * row['right_high'], 0)}% are ranked as planted, and "
        f"the ends are {format_estimate(row['ends'], row['ends_low'], row['ends_high'], 1)} of ten points apart"
    )
    if best.outcome == UNREADABLE:
        return (
            f"**Whether {model} can play people is unknown**: most of its ratings cannot be read ({row['missing']:.0f} of "
            f"{row['answers']:.0f} are missing)."
        )
    chance = f"; by chance 50% (P {format_p(row['p'])})"
    if best.outcome == IGNORES:
        return (
            f"**The ratings of {model} do not depend on who it plays** ({figures}{chance}). What its debates show is not opinion "
            "change: use another model."
        )
    if best.outcome == WEAK:
        return (
            f"**The ratings of {model} depend only weakly on who it plays** ({figures}{chance}). Differences between its agents "
            "say little."
        )
    return f"The ratings of {model} follow who it plays ({figures}{chance})."


def way_sentence(order: pd.DataFrame) -> str:
    """Return which way of asking serves this model, and what the other ways gave."""
    verdicts = way_verdicts(order)
    best = best_way(verdicts)
    parts = [
        f"{one.way}: {100 * one.right:.0f}% of pairs right, ends {one.ends:.1f} points apart"
        for one in verdicts
        if one.outcome != UNREADABLE
    ] + [f"{one.way}: most answers cannot be read" for one in verdicts if one.outcome == UNREADABLE]
    return f"Ask it in {best.way} ({'; '.join(parts)})."


def ends_sentence(order: pd.DataFrame) -> str:
    """Return whether the model reads which end of a scale is which; "" where that is unknown."""
    numbers = next((one for one in way_verdicts(order) if one.reads_ends is not None), None)
    if numbers is None or numbers.outcome == IGNORES:
        return ""
    if numbers.reads_ends:
        return "It reads which end of a scale of numbers is which."
    return (
        "It does not read which end of a scale of numbers is which: on a reversed scale its answers do not turn round. Do not "
        "ask it reversed or negated questions in numbers."
    )
