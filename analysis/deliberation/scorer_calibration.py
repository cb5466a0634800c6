"""How well a payoff scorer agrees with the final ratings: does it order statements alike, and how far off is it?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.deliberation.episode import STATEMENTS
from parley.analysis.deliberation.position_change import NO_MEAN, ClusteredMean, clustered_mean
from parley.analysis.statistics.intervals import POSITIVE, SHARE, correlation, correlation_interval


class Calibration(NamedTuple):
    """How well a payoff scorer agrees with the final ratings.

    r: Pearson's correlation. preferred: the share of participants with two different ratings whose better rated
    statement has the better score (ties count half). bias, error: the mean of score minus rating, and of its size, for
    scores on the ratings' scale. missing: ratings without a score.
    """

    r: ClusteredMean
    preferred: ClusteredMean
    bias: ClusteredMean
    error: ClusteredMean
    missing: int


def calibrate_payoff(rows: pd.DataFrame, same_scale: bool) -> Calibration:
    """Compare scores with ratings. rows: as from `rating_table`, with score (NaN: missing).

    Intervals are over groups, because the members of a group rate the same statements.
    """
    known = rows.dropna(subset=["score"])
    gap = (known["score"] - known["rating"]) if same_scale else pd.Series(math.nan, known.index)
    bias = clustered_mean(gap, known["group"])
    error = clustered_mean(gap.abs(), known["group"], bounds=POSITIVE)
    return Calibration(_correlation(known), _preferred(known), bias, error, int(rows["score"].isna().sum()))


def _correlation(rows: pd.DataFrame) -> ClusteredMean:
    x, y = rows["rating"], rows["score"]
    terms = pd.DataFrame({"n": 1.0, "x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y})
    sums = terms.groupby(rows["group"]).sum().to_numpy(dtype=float)
    value = float(correlation(sums.sum(axis=0))) if len(sums) else math.nan
    return ClusteredMean(value, *correlation_interval(sums), len(rows), len(sums))


def _preferred(rows: pd.DataFrame) -> ClusteredMean:
    wide = rows.pivot_table(["rating", "score"], ["group", "participant", "episode"], "statement")
    if not {("rating", name) for name in STATEMENTS} <= set(wide.columns):
        return NO_MEAN
    rating, score = (wide[what]["revision"] - wide[what]["draft"] for what in ("rating", "score"))
    known = (rating != 0) & rating.notna() & score.notna()
    points = (np.sign(score[known]) * np.sign(rating[known]) + 1) / 2
    groups = pd.Series(points.index.get_level_values("group"), index=points.index)
    return clustered_mean(points, groups, bounds=SHARE)
