"""Who speaks first: does it move less, and so pull more, than in the same room when the other begins?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from parley.analysis.card.conditions import Batch, turned, two
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.labels import points
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import away, by_cell, changes, effect
from parley.model.scenario import Scenario

SECTION = "order"
ORDER = 11
TITLE = "Who speaks first"
NOTE = (
    "The debates of two once more, with the other one beginning: the same agents and seeds. Points toward the other party, of "
    "an agent that speaks first minus the same agent when it speaks second. Below 0 it moves less when it begins. Some of "
    "that is not the order itself: who answers has heard, and moved, already. In a study of structured debates (UCL 2025, "
    "section 3.5) the first speaker pulled openings and not closings."
)
NEEDS = (turned, two)
QUANTITIES = {
    "opener_once": Quantity("moved toward the other party in the first round: speaking first minus second", "points"),
    "opener": Quantity("moved toward the other party by the end: speaking first minus second", "points"),
}
WATCH = ("opener",)
ROOMS = ("two", "turned")


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if "two" not in held:
        return [one for name in QUANTITIES for one in effect(SECTION, name, None, None)]
    rows, toward = turns(held), -away(held, "two")
    found = []
    for quantity, column in (("opener_once", "first"), ("opener", "change")):
        begun, answered = (by_cell(rows[rows["opens"] == opens], column, toward) for opens in (True, False))
        found += list(effect(SECTION, quantity, begun, answered, "the parties begin alike"))
    return found


def turns(held: ConditionRecords) -> pd.DataFrame:
    """A row an agent and room of two, in either order: as `changes`, and whether it `opens`."""
    return pd.concat([_turns(held, name) for name in ROOMS], ignore_index=True)


def _turns(held: ConditionRecords, condition: str) -> pd.DataFrame:
    first = held.spoken(condition).sort_values("iteration").groupby("room")["agent"].first().rename("opener")
    told = changes(held, condition).join(first, on="room", how="inner")
    return told.assign(opens=told["agent"] == told["opener"])


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    begun = find_estimate(found, "opener")
    if begun is None:
        return ""
    return f"Speaking first instead of second changed an agent's movement toward the other party by {points(begun)} by the end."
