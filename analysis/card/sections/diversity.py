"""Does everybody come to say the same? How far people of a party are apart, before and after, and how many words differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from parley.analysis.card.conditions import PARTIES, Batch, alone, three
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, is_possible, mean_estimate
from parley.analysis.card.labels import percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import positive, spread
from parley.analysis.metrics.text_diversity import distinct
from parley.model.scenario import Scenario

SECTION = "diversity"
ORDER = 7
TITLE = "Do agents of a party stay different?"
NOTE = (
    "The spread (SD) of the ratings of agents of one party on one topic, pooled over parties and topics. After divided by "
    "before: 1 where they stay as different as they were, 0 where all give one answer. In silence it is what asking again "
    "does. Distinct words: the share of 42 drawn words that differ among those said in a room in a round (HD-D). Intervals of "
    "spreads and ratios are by the delta method over blocks."
)
NEEDS = (three, alone)
QUANTITIES = {
    "spread": Quantity("spread between agents of a party after a debate of three (SD)", "points"),
    "collapse": Quantity("that spread after divided by before: debate of three", "ratio"),
    "collapse_alone": Quantity("that spread after divided by before: debate of three minus silence", "ratio"),
    "distinct": Quantity("distinct words of 42 in a round of a debate of three", "share"),
}
WATCH = ()
BEFORE, AFTER = "before", "after"
ALIKE = "all were alike before, or could not be rated"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    together, apart = (ends(held, name) if name in held else None for name in ("three", "alone"))
    assert together is not None
    return [
        positive(CardEstimate(SECTION, "spread", ALL), spread(together[AFTER])),
        positive(CardEstimate(SECTION, "collapse", ALL), ratio(together), ALIKE),
        _beside(CardEstimate(SECTION, "collapse_alone", ALL), together, apart),
        is_possible(mean_estimate(CardEstimate(SECTION, "distinct", ALL), _distinct(held))),
    ]


def ends(held: ConditionRecords, condition: str) -> pd.DataFrame:
    """A row a block, columns (before or after, topic, party): the level in the first and the last survey (0-10)."""
    rated = held.ratings(condition)
    rated = rated[rated["party"].isin(PARTIES)]
    when = {rated["round"].min(): BEFORE, rated["round"].max(): AFTER}
    known = rated.assign(when=rated["round"].map(when)).dropna(subset="when")
    keys = ["block", "when", "topic", "party"]
    return known.groupby(keys, sort=False)["level"].mean().unstack(keys[1:])


def ratio(rows: pd.DataFrame) -> pd.Series:
    """After over before, as a number a block, to first order; NaN where all were alike before."""
    before, after = spread(rows[BEFORE]), spread(rows[AFTER])
    start, share = before.mean(), after.mean() / before.mean() if (before > 0).any() else math.nan
    return share + (after - share * before) / start


def _beside(begun: CardEstimate, together: pd.DataFrame, apart: pd.DataFrame | None) -> CardEstimate:
    if apart is None:
        return replace(begun, reason="not held")
    null = ratio(apart)
    found = mean_estimate(replace(begun, reason=ALIKE), ratio(together) - null)
    return replace(found, null=float(null.mean())) if found.known else found


def _distinct(held: ConditionRecords) -> pd.Series:
    """By block: the mean over rooms and rounds with words enough."""
    found = [
        {"block": f"{batch}/{repetition}", "value": distinct(said.dropna()).value}
        for batch, tables in enumerate(held.records["three"], 1)
        for (repetition, _, _), said in tables.utterances.groupby(["repetition", "room", "round"], sort=False)["text"]
    ]
    table = pd.DataFrame(found, columns=["block", "value"]).astype({"value": float})
    return table.groupby("block", sort=False)["value"].mean()


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    less = find_estimate(found, "collapse")
    return f"After debates of three, ratings within a party spread {percent(less)} as far as before." if less else ""
