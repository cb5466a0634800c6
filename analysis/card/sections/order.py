"""Who speaks first: does it move less, and so pull more, than in the same room when the other begins?"""

from __future__ import annotations

import pandas as pd

from analysis.card.claims import Claim
from analysis.card.conditions import turned, two
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.sections._movement import away, by_cell, changes, effect
from model.scenario import Scenario

SECTION = "order"
ORDER = 11
TITLE = "Who speaks first"
NOTE = (
    "The rooms of two once more, with the other one beginning: the same people and seeds. Points of 0-10 toward the other party, "
    "of who speaks first less the same agent when it speaks second. Below 0 it moves less; in a room of two its partner then "
    "moves more, so that this is at once the pull of the first word. Some of it there is without any regard for the order: who "
    "answers has heard, and moved, already. The UCL study (2025, section 3.5) found that the first speaker pulls openings and "
    "not closings."
)
NEEDS = (turned, two)
QUANTITIES = {
    "opener_once": Quantity("moved toward the other party in the first round: speaking first less second", "points"),
    "opener": Quantity("moved toward the other party by the end: speaking first less second", "points"),
}
WATCH = ("opener",)
ROOMS = ("two", "turned")


def claims(held: Held, base: Scenario) -> list[Claim]:
    if "two" not in held:
        return [one for name in QUANTITIES for one in effect(SECTION, name, None, None)]
    rows, toward = turns(held), -away(held, "two")
    found = []
    for quantity, column in (("opener_once", "first"), ("opener", "change")):
        begun, answered = (by_cell(rows[rows["opens"] == opens], column, toward) for opens in (True, False))
        found += list(effect(SECTION, quantity, begun, answered, "the parties begin alike"))
    return found


def turns(held: Held) -> pd.DataFrame:
    """A row an agent and room of two, in either order: as `changes`, and whether it `opens`."""
    return pd.concat([_turns(held, name) for name in ROOMS], ignore_index=True)


def _turns(held: Held, condition: str) -> pd.DataFrame:
    first = held.spoken(condition).sort_values("iteration").groupby("room")["agent"].first().rename("opener")
    told = changes(held, condition).join(first, on="room", how="inner")
    return told.assign(opens=told["agent"] == told["opener"])
