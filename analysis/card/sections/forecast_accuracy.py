"""Do agents know what the debate will do to them? What they say beforehand that they will answer, beside what they answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from parley.agents.topic import FORECAST
from parley.analysis.card.conditions import PARTIES, Batch, three
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.labels import below, points
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections.null_conditions import directions
from parley.analysis.formatting import format_number
from parley.model.scenario import Scenario

SECTION = "forecast_accuracy"
ORDER = 4
TITLE = "What agents expect of themselves"
NOTE = (
    "Before a debate of three each agent is asked what it expects to answer at the end. Points toward the Default's answer, "
    "means of a block; a party that begins there is left out."
)
NEEDS = (three,)
QUANTITIES = {
    "foretold": Quantity("foretold movement toward the Default", "points"),
    "unforeseen": Quantity("movement toward the Default minus what was foretold", "points"),
}
WATCH = ("unforeseen",)


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    moved = movements(held)
    told, came = (moved[name].groupby(moved["block"], sort=False).mean() for name in ("foretold", "moved"))
    return [
        mean_estimate(CardEstimate(SECTION, "foretold", ALL), told),
        mean_estimate(CardEstimate(SECTION, "unforeseen", ALL), came - told),
    ]


def movements(held: ConditionRecords) -> pd.DataFrame:
    """A row an agent of a party that was rated first and last and said what it expects: block, foretold, moved (points)."""
    ratings = held.ratings("three", further=True)
    keys = ["block", "topic", "party", "room", "agent"]
    foretold = ratings[ratings["probe"] == FORECAST].set_index(keys)["level"]
    rated = ratings[ratings["probe"] != FORECAST].pivot(index=keys, columns="round", values="level")
    told = pd.DataFrame(
        {"foretold": foretold - rated.iloc[:, 0], "moved": rated.iloc[:, -1] - rated.iloc[:, 0]}
    ).dropna()
    side = np.sign(directions(held)).rename("side")
    known = told.reset_index().join(side, on=["topic", "party"], how="inner")
    known = known[known["party"].isin(PARTIES)]
    return known.assign(foretold=known["foretold"] * known["side"], moved=known["moved"] * known["side"])


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    told, off = (find_estimate(found, name) for name in ("foretold", "unforeseen"))
    if not (told and off):
        return ""
    by = f"{points(off)} nearer" if off.estimate > 0 else f"{points(below(off))} less near"
    return (
        f"Agents expected to come {format_number(told.estimate)} points nearer to "
        f"the Default's answer; they came {by} than that."
    )
