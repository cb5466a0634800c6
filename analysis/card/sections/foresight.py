"""Do agents know what the debate will do to them? What they say beforehand that they will answer, beside what they answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from agents.topic import FORECAST
from analysis.card.claims import ALL, Claim, averaged, find
from analysis.card.conditions import PARTIES, three
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.sections.nulls import directions
from model.scenario import Scenario

SECTION = "foresight"
ORDER = 4
TITLE = "What agents expect of themselves, and what they do"
NOTE = (
    "Before a debate of three everybody is asked what it expects to answer at the end. Points of 0-10 toward the model's own "
    "opinion, means of a block; a party that begins there is left out. Who says that it will not move, and moves, does not know "
    "itself."
)
NEEDS = (three,)
QUANTITIES = {
    "foretold": Quantity("foretold movement toward the Default", "points"),
    "unforeseen": Quantity("movement toward the Default less what was foretold", "points"),
}
WATCH = ("unforeseen",)


def claims(held: Held, base: Scenario) -> list[Claim]:
    moved = movements(held)
    told, came = (moved[name].groupby(moved["block"], sort=False).mean() for name in ("foretold", "moved"))
    return [
        averaged(Claim(SECTION, "foretold", ALL), told),
        averaged(Claim(SECTION, "unforeseen", ALL), came - told),
    ]


def movements(held: Held) -> pd.DataFrame:
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


def sentences(found: Sequence[Claim], base: Scenario) -> Iterator[str]:
    """For the first screen."""
    told, off = (find(found, name) for name in ("foretold", "unforeseen"))
    if told and off and off.low > 0:
        yield (
            f"Agents do not see it coming: asked beforehand, they expect to come {told.estimate:.1f} points nearer, and come "
            f"{off.estimate:.1f} points nearer than that ({off.low:.1f} to {off.high:.1f})."
        )
