"""Reversion: if a closing statement is announced, do agents go back to where they began?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from parley.analysis.card.conditions import Batch, closing
from parley.analysis.card.estimates import CardEstimate, find_estimate, jackknife, mean_estimate
from parley.analysis.card.labels import below, percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import CELL, SMALLEST, effect, levels, toward
from parley.analysis.scores.reversion import parts
from parley.model.scenario import Scenario

ORDER = 12
TITLE = "Do agents go back at the end? (reversion)"
NOTE = (
    "The last round of a debate of {a first} and {a second} is an announced closing statement or one more ordinary "
    "reply; all else is equal. An agent moves from its first rating to its middle rating (the mean of the surveys in "
    "between). *Movement undone* is the share of the movement to the middle that the agent loses again by the end. At "
    "100%, the agent is back at its first rating; at 0%, the agent is still at its middle rating. Below 0%, the agent "
    "moved further. The measure is the reversion of UCL 2025, Eq 2, from private ratings, pooled over topics. A party "
    "that moved less than half a point on a topic is left out."
)
NEEDS = (closing,)
QUANTITIES = {
    "reversion": Quantity("movement undone at the end: announced closing", "share"),
    "reversion_unannounced": Quantity("movement undone at the end: no closing", "share"),
    "closing": Quantity("moved back in the last round: announced closing minus no closing", "points"),
}
WATCH = ("closing",)
NAMES = {"reversion": "closing", "reversion_unannounced": "no closing"}
STILL = "no party moved far enough to go back"
UNSURE = "the agents may not have moved at all, so the share of the movement has no bounds"
ONE_ROUND = "a debate of one round has no middle"
NO_MOVEMENT = pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[], [], []], names=CELL))


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if base.rounds < 2:
        return [CardEstimate(name, reason=ONE_ROUND) for name in QUANTITIES]
    moves = returns(study)
    last = {name: condition_moves.set_index(CELL)["last"] for name, condition_moves in moves.groupby("condition")}
    announced, ordinary = (last.get(condition, NO_MOVEMENT) for condition in NAMES.values())
    return [
        *(_reversion(CardEstimate(name), moves[moves["condition"] == condition]) for name, condition in NAMES.items()),
        *effect("closing", announced, ordinary, STILL),
    ]


def returns(study: ConditionRecords) -> pd.DataFrame:
    """One row per condition, block, topic and party that moved, in points.

    Columns: gone (from before to the middle, positive the way that the party went), back (from the middle to the end) and last
    (in the last round), both positive against that way.
    """
    rows = pd.concat([_ways(study, name) for name in NAMES.values()], ignore_index=True)
    mean = rows.groupby(["topic", "party"], sort=False)["gone"].mean()
    return toward(rows, mean[mean.abs() >= SMALLEST], "gone", "back", "last")


def _ways(study: ConditionRecords, condition: str) -> pd.DataFrame:
    wide = levels(study, condition)
    values = wide.to_numpy(dtype=float)
    gone, back = parts(values, "mean")
    frame = pd.DataFrame({"gone": gone, "back": back, "last": values[:, -2] - values[:, -1]}, index=wide.index)
    return frame.dropna().reset_index().assign(condition=condition)


def _reversion(claim: CardEstimate, rows: pd.DataFrame) -> CardEstimate:
    """The sum of back over the sum of gone; missing where it is not sure that the agents moved."""
    sums = rows.groupby("block", sort=False)[["gone", "back"]].sum()
    if sums.empty or not mean_estimate(claim, sums["gone"]).low > 0:
        return replace(claim, n=len(sums), reason=STILL if sums.empty else UNSURE)
    return jackknife(claim, sums, lambda block_sums: float(block_sums["back"].sum() / block_sums["gone"].sum()))


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    if (back := find_estimate(claims, "reversion")) is None:
        return ""
    if back.high < 0:
        return (
            "Agents did not go back. From the middle to the end of the debate, agents moved further in the same "
            f"direction, by another {percent(below(back))} of their movement until the middle."
        )
    return f"After an announced closing, agents undid {percent(back)} of their movement until the middle of the debate."
