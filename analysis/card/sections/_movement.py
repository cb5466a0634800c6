"""Shared by sections: how far agents moved, and the difference between two conditions with the same blocks.

Shared by sections: how far values are apart within cells, as a number a unit of which it is the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.analysis.card.conditions import PARTIES
from parley.analysis.card.estimates import ALL, CardEstimate, mean_estimate
from parley.analysis.card.records import ConditionRecords

SMALLEST = 0.5
"""Points below which a direction is not told from noise."""


def levels(held: ConditionRecords, condition: str) -> pd.DataFrame:
    """A row an agent (block, topic, party, room, agent), a column a round (0: before): its level, NaN for a gap."""
    keys = ["block", "topic", "party", "room", "agent"]
    return held.ratings(condition).pivot(index=keys, columns="round", values="level")


def changes(held: ConditionRecords, condition: str) -> pd.DataFrame:
    """A row an agent that was rated first and last: block, topic, party, room, agent, change, first (in round 1), start."""
    wide = levels(held, condition)
    told = pd.DataFrame(
        {
            "change": wide.iloc[:, -1] - wide.iloc[:, 0],
            "first": wide.iloc[:, 1] - wide.iloc[:, 0],
            "start": wide.iloc[:, 0],
        }
    )
    return told.dropna(subset="change").reset_index()


def away(held: ConditionRecords, condition: str) -> pd.Series:
    """By topic and party: how far above the other party it stands before (points), where the two differ."""
    before = held.ratings(condition).query("round == 0").groupby(["topic", "party"], sort=False)["level"].mean()
    wide = before.unstack().reindex(columns=list(PARTIES))
    gaps = wide.sub(wide[list(reversed(PARTIES))].to_numpy()).stack()
    return gaps[gaps.abs() >= SMALLEST]


def moved(held: ConditionRecords, condition: str, sides: pd.Series) -> pd.Series | None:
    """By block, topic and party: the mean movement to the side that is given by topic and party; None: it was not held.

    A condition that is held party by party (`empty republican`, `empty democrat`) goes by its first word.
    """
    frames = [changes(held, name) for name in held.records if name.partition(" ")[0] == condition and name in held]
    return by_cell(pd.concat(frames), "change", sides) if frames else None


def by_cell(rows: pd.DataFrame, name: str, sides: pd.Series) -> pd.Series:
    """By block, topic and party: the mean of a column, turned so that positive is to the given side."""
    joined = rows.join(np.sign(sides).rename("side"), on=["topic", "party"], how="inner")
    turned = joined[name] * joined["side"]
    return turned.groupby([joined["block"], joined["topic"], joined["party"]], sort=False).mean()


def effect(
    section: str, name: str, of: pd.Series | None, null: pd.Series | None, empty: str = "there is no direction"
) -> Iterator[CardEstimate]:
    """Over both parties and all topics, then a topic each; `empty`: why there is nothing to compare."""
    if of is None or null is None:
        yield CardEstimate(section, name, ALL, reason="not held")
        return
    pairs = pd.concat({"of": of, "null": null}, axis=1).dropna()
    if pairs.empty:
        yield CardEstimate(section, name, ALL, reason=empty)
        return
    yield _paired(CardEstimate(section, name, ALL), pairs)
    for topic, part in pairs.groupby(level="topic", sort=False):
        yield _paired(CardEstimate(section, name, str(topic)), part)


def _paired(begun: CardEstimate, pairs: pd.DataFrame) -> CardEstimate:
    by_block = pairs.groupby(level="block", sort=False).mean()
    return replace(mean_estimate(begun, by_block["of"] - by_block["null"]), null=float(by_block["null"].mean()))


ALIKE = 1e-9
"""Points below which a spread is rounding."""


def spread(values: pd.DataFrame) -> pd.Series:
    """The standard deviation within columns (cells), pooled over them (root of the mean variance), as a number a row (unit) of
    which it is the mean: to first order the unit's part in it. All 0 where all are alike; empty where no cell has two values.

    Squares of a unit's distances from the means of its cells, n / (n - 1) of them, have the pooled variance as their mean.
    """
    squares = ((values - values.mean()) ** 2 * values.count() / (values.count() - 1)).mean(axis=1).dropna()
    pooled = float(squares.mean())
    if pooled <= ALIKE**2:
        return squares * 0.0
    return math.sqrt(pooled) * (1 + (squares / pooled - 1) / 2)


def positive(begun: CardEstimate, values: pd.Series, none: str = "no two that could be read") -> CardEstimate:
    """The mean of numbers a unit of something that is never below 0: Student's interval on the scale of its logarithm. `none`:
    why there are no numbers.
    """
    if values.dropna().empty:
        return replace(begun, n=len(values), reason=none)
    found = mean_estimate(begun, values)
    if found.reason or found.estimate <= ALIKE:
        return found
    reach = found.width / found.estimate
    return replace(found, low=found.estimate * math.exp(-reach), high=found.estimate * math.exp(reach))
