"""The opener's anchor: how far the rating of the agent that speaks first moves the ratings of the others.

For every agent that does not open, the change of its rating over the debate is compared with the opener's rating before the
debate. The opener's rating is taken as a distance from the mean of its topic, the changes from those of their topic and party, so
that what all groups share is no part of the
slope. Example: a slope of .2 means that, where the opener rates one point higher than other openers, the others move .2 points
higher. The unit is the block. The null shuffles the openers' ratings among the blocks of a topic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.card.records import ConditionRecords
from parley.analysis.contrasts import amount, to_and_from
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats, interval, too_few
from parley.analysis.statistics.null import Null
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import stream

from .arms import STATEMENT
from .decomposition import FULL, UNIT

DEALS = 999


class Anchor(NamedTuple):
    """The slope with its 95% interval over blocks, the middle 95% of slopes of dealt ratings, their p, and why one is missing."""

    slope: float = math.nan
    low: float = math.nan
    high: float = math.nan
    null_low: float = math.nan
    null_high: float = math.nan
    p: float = math.nan
    units: int = 0
    reason: str = ""


def followers(study: ConditionRecords) -> pd.DataFrame:
    """Return one row per agent that does not open, with both ratings: block, topic, party, change, opener (its first rating)."""
    rated = study.ratings(FULL)
    rated = rated[rated["probe"] == STATEMENT]
    wide = rated.pivot(index=["block", "topic", "room", "agent", "party"], columns="round", values="level")
    ends = pd.DataFrame(
        {"first": wide[wide.columns.min()], "change": wide[wide.columns.max()] - wide[wide.columns.min()]}
    )
    spoken = study.spoken(FULL)
    first = spoken[spoken["said"]].sort_values("iteration").groupby("room")["agent"].first()
    rows = ends.reset_index().join(first.rename("opens"), on="room", how="inner")
    opening = rows[rows["agent"] == rows["opens"]].set_index("room")["first"].rename("opener")
    others = rows[rows["agent"] != rows["opens"]].join(opening, on="room", how="inner")
    return others.dropna(subset=["change", "opener"])[["block", "topic", "party", "change", "opener"]]


def anchor(rows: pd.DataFrame) -> Anchor:
    """Return the slope of the changes of others on the opener's rating. rows: those of `followers`."""
    blocks = rows["block"].nunique()
    if blocks < FEWEST:
        return Anchor(units=blocks, reason=too_few(UNIT))
    opener, change, number = _tables(rows)
    sums = np.stack([_products(opener, change), _products(opener, opener * number)], axis=-1)
    if sums[:, 1].sum() <= ALIKE:
        return Anchor(units=blocks, reason="all openers of a topic begin alike")
    slope = float(sums[:, 0].sum() / sums[:, 1].sum())
    low, high = interval(sums, lambda draws: draws[..., 0].sum(axis=-1) / draws[..., 1].sum(axis=-1), None)
    if math.isnan(low):
        return Anchor(slope, units=blocks, reason="no other agent moves differently when another agent opens")
    rng = np.random.default_rng(stream(0, "opener", blocks).getrandbits(32))
    dealt = np.array([_dealt_slope(rng.permuted(opener, axis=0), change, number) for _ in range(DEALS)])
    null = Null(dealt)
    return Anchor(slope, low, high, *null.band, null.p(slope), blocks)


def _tables(rows: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return three tables (blocks, topics): the opener's rating around its topic's mean, the sum of the changes of others around
    those of their topic and party, and the number of others. A block without a topic has zeros there.
    """
    change = rows["change"] - rows.groupby(["topic", "party"])["change"].transform("mean")
    cells = rows.assign(change=change, number=1.0).groupby(["block", "topic"])
    table = cells.agg({"opener": "first", "change": "sum", "number": "sum"}).unstack("topic")
    opener = table["opener"] - table["opener"].mean()
    parts = (opener, table["change"], table["number"])
    first, second, third = (table.fillna(0.0).to_numpy(dtype=float) for table in parts)
    return first, second, third


def _products(opener: Floats, values: Floats) -> Floats:
    return np.asarray((opener * values).sum(axis=1), dtype=float)


def _dealt_slope(opener: Floats, change: Floats, number: Floats) -> float:
    """Return the slope when the openers' ratings are shuffled among the blocks of each topic."""
    return float((opener * change).sum() / (opener**2 * number).sum())


def sentence(anchor: Anchor) -> str:
    """Return what the opener's rating does to the others, or why that is unknown."""
    if anchor.reason:
        return unknown_sentence("the opener's anchor", anchor.reason)
    shuffled = f"shuffled {anchor.null_low:.2f} to {anchor.null_high:.2f}"
    size = amount((anchor.slope, anchor.low, anchor.high), to_and_from("the opener"), of=shuffled)
    each = "for each point that the opener rates differently"
    if anchor.p >= 0.05 or anchor.low <= 0 <= anchor.high:
        return f"No anchor of the opener is shown: {each}, others move {size}."
    return f"{each[0].upper()}{each[1:]}, others move {size}."
