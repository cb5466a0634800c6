"""Does everybody come to say the same? How far people of a party are apart, before and after, and how many words differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from analysis.card.claims import ALL, Claim, averaged, find
from analysis.card.conditions import PARTIES, Batch, alone, three
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.words import percent
from analysis.metrics.text_diversity import distinct
from model.scenario import Scenario

SECTION = "variety"
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


def claims(held: Held, base: Scenario) -> list[Claim]:
    together, apart = (ends(held, name) if name in held else None for name in ("three", "alone"))
    assert together is not None
    return [
        positive(Claim(SECTION, "spread", ALL), spread(together, AFTER)),
        positive(Claim(SECTION, "collapse", ALL), ratio(together)),
        _beside(Claim(SECTION, "collapse_alone", ALL), together, apart),
        averaged(Claim(SECTION, "distinct", ALL), _distinct(held)),
    ]


def ends(held: Held, condition: str) -> pd.DataFrame:
    """A row a block, columns (before or after, topic, party): the level in the first and the last survey (0-10)."""
    rated = held.ratings(condition)
    rated = rated[rated["party"].isin(PARTIES)]
    when = {rated["round"].min(): BEFORE, rated["round"].max(): AFTER}
    known = rated.assign(when=rated["round"].map(when)).dropna(subset="when")
    return known.pivot_table(index="block", columns=["when", "topic", "party"], values="level", sort=False)


def spread(rows: pd.DataFrame, when: str) -> pd.Series:
    """The standard deviation between blocks within topic and party, pooled (root of the mean variance), as a number a block of
    which it is the mean: to first order the block's part in it.

    Squares of a block's distances from the means of its cells, n / (n - 1) of them, have the pooled variance as their mean.
    """
    part = rows[when]
    squares = ((part - part.mean()) ** 2 * part.count() / (part.count() - 1)).mean(axis=1).dropna()
    pooled = float(squares.mean())
    return math.sqrt(pooled) * (1 + (squares / pooled - 1) / 2) if pooled > 0 else squares * math.nan


def ratio(rows: pd.DataFrame) -> pd.Series:
    """After over before, likewise; nothing where all were alike before."""
    before, after = spread(rows, BEFORE), spread(rows, AFTER)
    return after.mean() / before.mean() * (1 + after / after.mean() - before / before.mean())


def positive(begun: Claim, values: pd.Series) -> Claim:
    """The mean of numbers a block of something above 0: Student's interval on the scale of its logarithm."""
    if values.dropna().empty:
        return replace(begun, n=len(values), reason="all alike: no spread to speak of")
    found = averaged(begun, values.rename_axis("block"))
    reach = found.width / found.estimate
    if not math.isfinite(reach):
        return found
    return replace(found, low=found.estimate * math.exp(-reach), high=found.estimate * math.exp(reach))


def _beside(begun: Claim, together: pd.DataFrame, apart: pd.DataFrame | None) -> Claim:
    if apart is None:
        return replace(begun, reason="not held")
    null = ratio(apart)
    return replace(averaged(begun, (ratio(together) - null).rename_axis("block")), null=float(null.mean()))


def _distinct(held: Held) -> pd.Series:
    """By block: the mean over rooms and rounds with words enough."""
    found = [
        {"block": f"{batch}/{repetition}", "value": distinct(said.dropna()).value}
        for batch, tables in enumerate(held.records["three"], 1)
        for (repetition, _, _), said in tables.utterances.groupby(["repetition", "room", "round"], sort=False)["text"]
    ]
    table = pd.DataFrame(found, columns=["block", "value"]).astype({"value": float})
    return table.groupby("block", sort=False)["value"].mean()


def result(found: Sequence[Claim], first: Batch) -> str:
    """With which the section opens."""
    less = find(found, "collapse")
    return f"After debates of three, ratings within a party spread {percent(less)} as far as before." if less else ""
