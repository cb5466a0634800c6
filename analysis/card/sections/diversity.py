"""Do agents come to say the same? How far agents of a party are apart, before and after, and how many words differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from parley.analysis.card.conditions import Batch, alone, three
from parley.analysis.card.estimates import NOT_RUN, CardEstimate, find_estimate, is_possible, mean_estimate
from parley.analysis.card.labels import percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import positive, spread
from parley.analysis.metrics.text_diversity import distinct
from parley.model.scenario import Scenario

ORDER = 7
TITLE = "Do agents of a party stay different?"
NOTE = (
    "Spread is the SD of the ratings of agents of one party on one topic, pooled over parties and topics. The ratio is "
    "the spread after a debate divided by the spread before. A ratio of 1 means that agents stay as different as they "
    "were; a ratio of 0 means that all agents give the same answer. The ratio in silence shows the effect of asking "
    "again. *Distinct words* is the share of different words among 42 words drawn from a room in one round (HD-D). "
    "Intervals of spreads and ratios are by the delta method over blocks."
)
NEEDS = (three, alone)
QUANTITIES = {
    "spread": Quantity("spread between agents of a party after a debate of three (SD)", "points"),
    "collapse": Quantity("spread after divided by spread before: debate of three", "ratio"),
    "collapse_alone": Quantity("spread after divided by spread before: debate of three minus silence", "ratio"),
    "distinct": Quantity("distinct words of 42 in a round of a debate of three", "share"),
}
WATCH = ()
ALIKE = "all agents of a party gave the same rating before the debate, or no rating could be read"


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    debates = ends(study, "three")
    ratios = ratio(debates)
    silence = CardEstimate("collapse_alone", reason=NOT_RUN)
    if "alone" in study:
        control = ratio(ends(study, "alone"))
        silence = mean_estimate(replace(silence, reason=ALIKE), ratios - control)
        silence = replace(silence, null=float(control.mean())) if silence.known else silence
    return [
        positive(CardEstimate("spread"), spread(debates["after"])),
        positive(CardEstimate("collapse"), ratios, ALIKE),
        silence,
        is_possible(mean_estimate(CardEstimate("distinct"), _distinct(study))),
    ]


def ends(study: ConditionRecords, condition: str) -> pd.DataFrame:
    """Ratings (0-10) in the first and the last survey: one row per block, columns (before or after, topic, party)."""
    rated = study.ratings(condition)
    rated = rated[rated["party"].isin(study.parties)]
    when = {rated["round"].min(): "before", rated["round"].max(): "after"}
    at_ends = rated.assign(when=rated["round"].map(when)).dropna(subset="when")
    keys = ["block", "when", "topic", "party"]
    return at_ends.groupby(keys, sort=False)["level"].mean().unstack(keys[1:])


def ratio(rows: pd.DataFrame) -> pd.Series:
    """The spread after divided by before, as one number per block (to first order); NaN where all were alike before."""
    before, after = spread(rows["before"]), spread(rows["after"])
    start, share = before.mean(), after.mean() / before.mean() if (before > 0).any() else math.nan
    return share + (after - share * before) / start


def _distinct(study: ConditionRecords) -> pd.Series:
    """By block: the mean over rooms and rounds that have enough words."""
    rows = [
        {"block": f"{batch}/{repetition}", "value": distinct(texts.dropna()).value}
        for batch, tables in enumerate(study.records["three"], 1)
        for (repetition, _, _), texts in tables.utterances.groupby(["repetition", "room", "round"], sort=False)["text"]
    ]
    table = pd.DataFrame(rows, columns=["block", "value"]).astype({"value": float})
    return table.groupby("block", sort=False)["value"].mean()


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    left = find_estimate(claims, "collapse")
    return (
        f"After debates of three, ratings within a party spread {percent(left, bounded=False)} as far as before."
        if left
        else ""
    )
