"""Who speaks first: does an agent that begins move less than the same agent that answers?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from parley.analysis.card.conditions import Batch, turned, two
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.labels import contrasted
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import SAME_START, away, by_cell, changes, effect
from parley.analysis.contrasts import to_and_from
from parley.model.scenario import Scenario

ORDER = 11
TITLE = "Who speaks first"
NOTE = (
    "The debates of two are run once more, and the other agent begins; agents and seeds are the same. Each number is "
    "how many points an agent moves toward the other party when it speaks first, minus the points when it speaks "
    "second. A number below 0 means that an agent moves less when it speaks first than when it speaks second. Part of "
    "this difference is not due to the order, because the agent that answers has already heard a reply, and moved. In "
    "a study of structured debates (UCL 2025, section 3.5) the first speaker pulled openings and not closings."
)
NEEDS = (turned, two)
QUANTITIES = {
    "opener_once": Quantity("moved toward the other party in the first round: speaking first minus second", "points"),
    "opener": Quantity("moved toward the other party by the end: speaking first minus second", "points"),
}
WATCH = ("opener",)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if "two" not in study:
        return [claim for name in QUANTITIES for claim in effect(name, None, None)]
    rows, sides = turns(study), -away(study, "two")
    estimates = []
    for quantity, column in (("opener_once", "first"), ("opener", "change")):
        first, second = (by_cell(rows[rows["opens"] == opens], column, sides) for opens in (True, False))
        estimates += list(effect(quantity, first, second, SAME_START))
    return estimates


def turns(study: ConditionRecords) -> pd.DataFrame:
    """One row per agent and room of two, in either order: the columns of `changes`, and whether the agent `opens`."""
    return pd.concat([_turns(study, name) for name in ("two", "turned")], ignore_index=True)


def _turns(study: ConditionRecords, condition: str) -> pd.DataFrame:
    opener = study.spoken(condition).sort_values("iteration").groupby("room")["agent"].first().rename("opener")
    rows = changes(study, condition).join(opener, on="room", how="inner")
    return rows.assign(opens=rows["agent"] == rows["opener"])


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    opener = find_estimate(claims, "opener")
    if opener is None:
        return ""
    names = "debates in which they spoke first", "debates in which they spoke second"
    return contrasted("Agents", opener, names, to_and_from("the other party"))
