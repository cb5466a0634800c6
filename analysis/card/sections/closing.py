"""Reversion: when a closing statement is announced, do agents go back to where they began?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.analysis.card.conditions import Batch, closing
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, jackknife, mean_estimate
from parley.analysis.card.labels import below, percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import SMALLEST, effect, levels
from parley.analysis.scores.reversion import parts
from parley.model.scenario import Scenario

SECTION = "closing"
ORDER = 12
TITLE = "Do agents go back at the end? (reversion)"
NOTE = (
    "Structured debates of a Republican and a Democrat, alike up to the last round, which is an announced closing statement "
    "or one more reply. Way undone: of the way from before the debate to its middle (the mean of the surveys between), the "
    "share that is gone back at the end. 100% is back where it began, 0% is still at the middle, below 0% went on (reversion "
    "of UCL 2025, Eq 2, from private ratings, pooled over topics). A party that moved less than half a point on a topic is "
    "left out."
)
NEEDS = (closing,)
QUANTITIES = {
    "reversion": Quantity("way undone at the end: announced closing", "share"),
    "reversion_unannounced": Quantity("way undone at the end: no closing", "share"),
    "closing": Quantity("moved back in the last round: announced closing minus no closing", "points"),
}
WATCH = ("closing",)
NAMES = {"reversion": "closing", "reversion_unannounced": "no closing"}
STILL = "nobody moved far enough that there is a way back"
UNSURE = "whether they moved at all is not sure, so that nothing bounds a share of it"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if base.rounds < 2:
        return [CardEstimate(SECTION, name, ALL, reason="a debate of one round has no middle") for name in QUANTITIES]
    found = returns(held)
    last = {name: part.set_index(["block", "topic", "party"])["last"] for name, part in found.groupby("condition")}
    return [
        *[_reversion(CardEstimate(SECTION, name, ALL), found[found["condition"] == of]) for name, of in NAMES.items()],
        *effect(SECTION, "closing", last.get("closing", _none()), last.get("no closing", _none()), STILL),
    ]


def returns(held: ConditionRecords) -> pd.DataFrame:
    """A row a condition, block, topic and party that moved: gone (from before to the middle), back (from the middle to the end)
    and last (in the last round), points, positive along the way that the party went, and back along it.
    """
    told = pd.concat([_ways(held, name) for name in NAMES.values()], ignore_index=True)
    mean = told.groupby(["topic", "party"], sort=False)["gone"].mean()
    way = np.sign(mean[mean.abs() >= SMALLEST]).rename("way")
    kept = told.join(way, on=["topic", "party"], how="inner")
    return kept.assign(**{name: kept[name] * kept["way"] for name in ("gone", "back", "last")})


def _ways(held: ConditionRecords, condition: str) -> pd.DataFrame:
    wide = levels(held, condition)
    values = wide.to_numpy(dtype=float)
    gone, back = parts(values, "mean")
    told = pd.DataFrame({"gone": gone, "back": back, "last": values[:, -2] - values[:, -1]}, index=wide.index)
    return told.dropna().reset_index().assign(condition=condition)


def _reversion(begun: CardEstimate, rows: pd.DataFrame) -> CardEstimate:
    """The ratio of sums; where it is not sure that anybody moved, nothing bounds it."""
    sums = rows.groupby("block", sort=False)[["gone", "back"]].sum()
    if sums.empty or not mean_estimate(begun, sums["gone"]).low > 0:
        return replace(begun, n=len(sums), reason=STILL if sums.empty else UNSURE)
    return jackknife(begun, sums, lambda kept: float(kept["back"].sum() / kept["gone"].sum()))


def _none() -> pd.Series:
    index = pd.MultiIndex.from_arrays([[], [], []], names=["block", "topic", "party"])
    return pd.Series(dtype=float, index=index)


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    back = find_estimate(found, "reversion")
    if back is None:
        return ""
    if back.high < 0:
        return (
            "Agents did not go back: from the middle of the debate to its end they went on, by another "
            f"{percent(below(back))} of the way that they had come until then."
        )
    return f"After an announced closing {percent(back)} of the way was undone that agents had come by the middle of the debate."
