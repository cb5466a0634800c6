"""What follows from the planted positions: do ratings of this model depend on who it plays, and how should it be asked?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.formatting import format_p
from parley.analysis.qualify.measures import MOST_LOST, main_rows
from parley.analysis.qualify.questions import REVERSED, WAYS
from parley.analysis.statistics.intervals import FEWEST

FOLLOWS, WEAK, IGNORES, UNREADABLE = "follows", "weakly", "ignores", "unreadable"
RANKS = (UNREADABLE, IGNORES, WEAK, FOLLOWS)
P = 0.01
"""The P of the null below which ratings are said to depend on the position."""
PAIRS = 6
"""Pairs of the four people of a block."""
RIGHT, APART = 0.8, 2.0
"""The share of pairs ranked right, and the points between the ends, from which on ratings follow the position."""


VOICED = 0.05
"""The P of the null below which lines are said to go with ratings."""


@dataclass(frozen=True)
class OwnVoice:
    """A share with its null. of: replies, or pairs of lines; chance: the mean share of the null, p: how often it is as high.

    missing: replies that name no party or several, or lines without a grade.
    """

    share: float
    of: int
    chance: float
    p: float
    missing: int


@dataclass(frozen=True)
class WayVerdict:
    """What one way of asking gives, with the numbers of its row (measures.planted_order; NaN: unknown).

    outcome: one of RANKS. turned: share of pairs ranked right on the reversed scale; NaN: not asked, or too little was read.
    """

    way: str
    outcome: str
    answers: int
    missing: int
    pairs: int
    right: float = math.nan
    right_low: float = math.nan
    right_high: float = math.nan
    p: float = math.nan
    ends: float = math.nan
    ends_low: float = math.nan
    ends_high: float = math.nan
    turned: float = math.nan

    @property
    def same_for_all(self) -> bool:
        """Whether each answer is the same at both ends, in enough blocks for an interval, which such answers do not have."""
        return self.ends == 0 and self.right == 0.5 and self.pairs >= FEWEST * PAIRS and math.isnan(self.ends_high)

    @property
    def figures(self) -> str:
        """The numbers behind the verdict, in sentences."""
        right = f"{100 * self.right:.0f}%{_ends(100 * self.right_low, 100 * self.right_high, 0)}"
        ends = f"{self.ends:.1f} points{_ends(self.ends_low, self.ends_high, 1)}"
        return (
            f"Asked in {self.way}, the model ranked {right} of {self.pairs} pairs of people with different known "
            f"positions as their personas state; 50% are expected by chance (P {format_p(self.p)}). On a scale of ten "
            f"points, the model's mean ratings of people at the two ends of the axis are {ends} apart."
        )


def _ends(low: float, high: float, digits: int) -> str:
    """Return an interval in brackets; "" without one."""
    return "" if math.isnan(low) or math.isnan(high) else f" ({low:.{digits}f} to {high:.{digits}f})"


def way_verdicts(order: pd.DataFrame) -> list[WayVerdict]:
    """Return the verdict on each way that was asked, in the order of WAYS. order: of `planted_order`."""
    rows = main_rows(order)
    reversed_ = order[order["form"] == REVERSED].set_index("way")
    return [_verdict(way, rows.loc[way], reversed_) for way in WAYS if way in rows.index]


def best_way(verdicts: list[WayVerdict]) -> WayVerdict:
    """Return the way to ask this model: the one whose ratings follow the position best; of equals the first of WAYS."""
    return max(
        verdicts,
        key=lambda verdict: (
            RANKS.index(verdict.outcome),
            np.nan_to_num(verdict.right) + np.nan_to_num(verdict.ends) / 20,
        ),
    )


def _verdict(way: str, row: pd.Series, reversed_: pd.DataFrame) -> WayVerdict:
    turned = math.nan
    if way in reversed_.index and reversed_.loc[way, "missing"] <= MOST_LOST * reversed_.loc[way, "answers"]:
        turned = float(reversed_.loc[way, "right"])
    numbers: dict[str, Any] = {name: int(row[name]) for name in ("answers", "missing", "pairs")}
    names = ("right", "right_low", "right_high", "p", "ends", "ends_low", "ends_high")
    numbers |= {name: float(row[name]) for name in names}
    return WayVerdict(way, _outcome(row), **numbers, turned=turned)


def _outcome(row: pd.Series) -> str:
    if row["missing"] > MOST_LOST * row["answers"] or np.isnan(row["p"]):
        return UNREADABLE
    if row["p"] >= P or row["right"] < 0.5:
        return IGNORES
    return FOLLOWS if row["right"] >= RIGHT and row["ends"] >= APART else WEAK


def headline(model: str, verdicts: list[WayVerdict]) -> str:
    """Return whether the model can play people, in words for a layperson. model: its name."""
    best = best_way(verdicts)
    if best.outcome == UNREADABLE:
        return (
            f"**It is unknown whether {model} can play people**, because most of its ratings cannot be read ({best.missing} of "
            f"{best.answers} are missing)."
        )
    if best.outcome == IGNORES:
        if best.ends_high < APART or best.same_for_all:
            return (
                f"**The ratings of {model} do not depend on who it plays**, so its debates do not show changes of opinion, and "
                f"you should use another model. {best.figures}"
            )
        return (  # no interval, or one that has ends as far apart as those of a model that plays
            f"**It is not clear whether the ratings of {model} depend on who it plays.** {best.figures} Ask more "
            "questions with `python run.py qualify`; until more questions show that the ratings depend on who the "
            "model plays, do not read a change of ratings in debates as a change of opinion."
        )
    if best.outcome == WEAK:
        return (
            f"**The ratings of {model} depend only weakly on who it plays.** {best.figures} So differences between "
            "agents of this model are weak evidence."
        )
    party = "Parley did not test whether the model plays a party without a stated position"
    return f"The ratings of {model} follow the positions that personas state; {party}. {best.figures}"


def way_sentence(verdicts: list[WayVerdict]) -> str:
    """Return which way of asking serves this model, and what each way gave."""
    parts = [
        f"in {verdict.way}, most answers cannot be read"
        if verdict.outcome == UNREADABLE
        else f"in {verdict.way}, it ranked {100 * verdict.right:.0f}% of the pairs right, and the ends are "
        f"{verdict.ends:.1f} points apart"
        for verdict in verdicts
    ]
    return f"Ask this model in {best_way(verdicts).way} ({'; '.join(parts)})."


def ends_sentence(verdicts: list[WayVerdict]) -> str:
    """Return whether the model reads which end of a scale is which; "" where that is unknown."""
    turned = next(
        (
            verdict
            for verdict in verdicts
            if not math.isnan(verdict.turned) and verdict.outcome not in (IGNORES, UNREADABLE)
        ),
        None,
    )
    if turned is None:
        return ""
    if turned.turned >= RIGHT:
        return "The model notices which end of a numeric scale is which."
    return (
        "The model's answers are not reversed if a numeric scale is reversed, which shows that the model does not notice which "
        "end is which. Do not ask this model reversed or negated questions in numbers."
    )


def lines_sentence(lines: OwnVoice | None) -> str:
    """Return that it is not shown that what agents say goes with what they rate; "" where that is shown, or unknown."""
    if lines is None or not lines.of or lines.p < VOICED:
        return ""
    return (
        "The replies of the model's agents may not explain the ratings of the agents, because the model itself scored only "
        f"{100 * lines.share:.0f}% of {lines.of} pairs of replies of a short debate in the order of the speakers' ratings "
        f"({100 * lines.chance:.0f}% are expected by chance)."
    )
