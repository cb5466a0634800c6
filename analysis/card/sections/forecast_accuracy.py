"""Do agents know what the debate will do to them? The ratings that they predict compared with those that they give."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from parley.agents.probe import FORECAST
from parley.analysis.card.conditions import Batch, three
from parley.analysis.card.estimates import CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import CELL, toward
from parley.analysis.card.sections.null_conditions import TO_DEFAULT, directions
from parley.analysis.contrasts import contrast
from parley.model.scenario import Scenario

ORDER = 4
TITLE = "What agents expect of themselves"
NOTE = (
    "Before a debate of three, each agent is asked which rating it expects to give at the end. Numbers are points "
    "toward the Default's answer, averaged within a block. A party that begins at the Default's answer is left out."
)
NEEDS = (three,)
QUANTITIES = {
    "foretold": Quantity("predicted movement toward the Default", "points"),
    "unforeseen": Quantity("movement toward the Default minus predicted movement", "points"),
}
WATCH = ("unforeseen",)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    means = movements(study).groupby("block", sort=False)[["foretold", "moved"]].mean()
    return [
        mean_estimate(CardEstimate("foretold"), means["foretold"]),
        mean_estimate(CardEstimate("unforeseen"), means["moved"] - means["foretold"]),
    ]


def movements(study: ConditionRecords) -> pd.DataFrame:
    """One row per agent of a party that predicted and was rated first and last: block, foretold, moved (points)."""
    ratings = study.ratings("three", further=True)
    keys = [*CELL, "room", "agent"]
    predicted = ratings[ratings["probe"] == FORECAST].set_index(keys)["level"]
    wide = ratings[ratings["probe"] != FORECAST].pivot(index=keys, columns="round", values="level")
    rows = pd.DataFrame({"foretold": predicted - wide.iloc[:, 0], "moved": wide.iloc[:, -1] - wide.iloc[:, 0]}).dropna()
    return toward(rows.reset_index(), directions(study), "foretold", "moved")


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    predicted, further = (find_estimate(claims, name) for name in ("foretold", "unforeseen"))
    if not (predicted and further):
        return ""
    moved = predicted.estimate + further.estimate, predicted.estimate
    apart = further.estimate, further.low, further.high
    return contrast("Agents", moved, ("debates", "their own forecasts"), apart, TO_DEFAULT)
