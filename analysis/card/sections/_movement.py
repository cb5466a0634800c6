"""Shared by sections: how far agents moved, differences between conditions within blocks, and spreads between agents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.analysis.card.estimates import BLOCK, NOT_RUN, CardEstimate, mean_estimate
from parley.analysis.card.records import ConditionRecords

SMALLEST = 0.5
"""Points: a smaller distance or movement has no direction."""
ALIKE = 1e-9
"""Points: a smaller spread is rounding."""
CELL = ["block", "topic", "party"]
SAME_START = "the parties begin alike"


def levels(study: ConditionRecords, condition: str) -> pd.DataFrame:
    """Ratings (0-10): one row per agent (block, topic, party, room, agent), one column per round (0: before); NaN: missing."""
    return study.ratings(condition).pivot(index=[*CELL, "room", "agent"], columns="round", values="level")


def changes(study: ConditionRecords, condition: str) -> pd.DataFrame:
    """One row per agent rated first and last: block, topic, party, room, agent, change, first (change in round 1), start."""
    wide = levels(study, condition)
    start = wide.iloc[:, 0]
    frame = pd.DataFrame({"change": wide.iloc[:, -1] - start, "first": wide.iloc[:, 1] - start, "start": start})
    return frame.dropna(subset="change").reset_index()


def away(study: ConditionRecords, condition: str) -> pd.Series:
    """By topic and party: how many points the party starts above the other party, where that is `SMALLEST` or more."""
    wide = starts(study, condition).reindex(columns=list(study.parties))
    gaps = wide.sub(wide[list(reversed(study.parties))].to_numpy()).stack()
    return gaps[gaps.abs() >= SMALLEST]


def starts(study: ConditionRecords, condition: str) -> pd.DataFrame:
    """The mean rating before the debate: one row per topic, one column per party."""
    before = study.ratings(condition).query("round == 0")
    return before.groupby(["topic", "party"], sort=False)["level"].mean().unstack()


def moved(study: ConditionRecords, condition: str, sides: pd.Series) -> pd.Series | None:
    """By block, topic and party: the mean movement toward a side (its sign by topic and party); None: not run.

    A condition that is run party by party (`empty labour`, `empty conservative`) is named by its first word.
    """
    frames = [changes(study, name) for name in study.records if name.partition(" ")[0] == condition and name in study]
    return by_cell(pd.concat(frames), "change", sides) if frames else None


def by_cell(rows: pd.DataFrame, name: str, sides: pd.Series) -> pd.Series:
    """By block, topic and party: the mean of a column, positive toward the side."""
    return toward(rows, sides, name).groupby(CELL, sort=False)[name].mean()


def toward(rows: pd.DataFrame, sides: pd.Series, *columns: str) -> pd.DataFrame:
    """The rows whose topic and party have a side, with these columns turned so that positive is toward it."""
    joined = rows.join(np.sign(sides).rename("side"), on=["topic", "party"], how="inner").reset_index(drop=True)
    return joined.assign(**{name: joined[name] * joined["side"] for name in columns})


def effect(
    quantity: str,
    condition: pd.Series | None,
    control: pd.Series | None,
    empty: str = "there is no direction",
    unit: str = BLOCK,
) -> Iterator[CardEstimate]:
    """Condition minus control within blocks, over all topics and then by topic.

    condition, control: numbers by block, topic and party; None: not run. empty: the reason where nothing can be compared.
    """
    whole = CardEstimate(quantity, unit=unit)
    if condition is None or control is None:
        yield replace(whole, reason=NOT_RUN)
        return
    pairs = pd.concat({"condition": condition, "control": control}, axis=1).dropna()
    if pairs.empty:
        yield replace(whole, reason=empty)
        return
    yield _paired(whole, pairs)
    for topic, topic_pairs in pairs.groupby(level="topic", sort=False):
        yield _paired(replace(whole, topic=str(topic)), topic_pairs)


def _paired(claim: CardEstimate, pairs: pd.DataFrame) -> CardEstimate:
    means = pairs.groupby(level="block", sort=False).mean()
    return replace(mean_estimate(claim, means["condition"] - means["control"]), null=float(means["control"].mean()))


def spread(values: pd.DataFrame) -> pd.Series:
    """The standard deviation within cells, as one number per unit whose mean it is (to first order).

    values: one row per unit, one column per cell. Variances are pooled over cells. All 0 where all units are alike; empty where
    no cell has two values. The squares of a unit's distances from its cells' means, times n / (n - 1), have the pooled variance
    as their mean.
    """
    squares = ((values - values.mean()) ** 2 * values.count() / (values.count() - 1)).mean(axis=1).dropna()
    pooled = float(squares.mean())
    if pooled <= ALIKE**2:
        return squares * 0.0
    return math.sqrt(pooled) * (1 + (squares / pooled - 1) / 2)


def positive(
    claim: CardEstimate, values: pd.Series, empty: str = "fewer than two answers could be read"
) -> CardEstimate:
    """The mean of something that is never negative, with Student's interval on the scale of its logarithm.

    values: one number per unit. empty: the reason where there are none.
    """
    if values.dropna().empty:
        return replace(claim, n=len(values), reason=empty)
    mean = mean_estimate(claim, values)
    if mean.reason or mean.estimate <= ALIKE:
        return mean
    reach = mean.width / mean.estimate
    return replace(mean, low=mean.estimate * math.exp(-reach), high=mean.estimate * math.exp(reach))
