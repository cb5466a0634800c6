"""The score of one part of human-likeness: 1 as near as other people, 0 as near as the nearer null.

The distance to the run is compared with that between random halves of the people (the ceiling) and with that to null samples.
A score is unknown where people do not differ from the null (p of 0.05 and more), and where the other half of the people is
nearer than the nulls in less than 90% of the splits: then the part cannot show that anything is like people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parley.analysis.statistics.intervals import Floats

ALPHA, SEPARATES = 0.05, 0.9
NO_VALUE = "the run has no value of this property of this property"
SAME_AS_NULL = "people do not differ from the null"
FAR_HALVES = "too few people or rooms: other people are hardly nearer to people than the null is"


def score_part(split: Floats, drawn: Floats, p: float, cut: float) -> dict[str, object]:
    """Return run, halves, shuffled, still (mean distances), and score, score_low, score_high or the reason without them.

    split: (splits, 4), distances from half of the people to the run, to the other half, and to one or two nulls (NaN: there is
    no second one). drawn: the distance to the run with rooms and groups drawn with replacement. p: that the null has a value like
    the people's. cut: the share of draws outside each end of the interval.
    """
    run, halves, shuffled, still = (
        float(column[0]) if np.isnan(column).all() else float(column.mean()) for column in split.T
    )
    distances: dict[str, object] = {"run": run, "halves": halves, "shuffled": shuffled, "still": still}
    nearer = float(np.fmin(shuffled, still))
    if np.isnan(run):
        return distances | {"reason": NO_VALUE}
    if not p < ALPHA:
        return distances | {"reason": SAME_AS_NULL}
    if not (split[:, 1] < np.fmin(split[:, 2], split[:, 3])).mean() >= SEPARATES:
        return distances | {"reason": FAR_HALVES}
    ends = np.nanquantile(drawn - np.nanmean(drawn) + run, [1 - cut, cut])
    low, high = (nearer - ends) / (nearer - halves)
    return distances | {"score": (nearer - run) / (nearer - halves), "score_low": low, "score_high": high}


def verdict(row: Mapping[str, Any]) -> str:
    """Return what a row with score_low, score_high and reason shows, in words.

    >>> verdict({"reason": "", "score_low": 0.4, "score_high": 0.8})
    'nearer to people than the null is, but not as near as other people are'
    """
    if row["reason"]:
        return f"is unknown: {row['reason']}"
    if row["score_low"] > 0:
        return (
            "as near to people as other people are"
            if row["score_high"] >= 1
            else "nearer to people than the null is, but not as near as other people are"
        )
    return (
        "no nearer to people than the null is"
        if row["score_high"] < 1
        else "is unknown: the interval contains the null and the ceiling"
    )
