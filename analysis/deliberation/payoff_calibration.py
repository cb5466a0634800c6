"""A payoff scorer beside the final ratings of those it speaks for: does it order statements alike, and how far off is it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import correlation, correlation_interval
from parley.analysis.deliberation.episode import STATEMENTS, Episode
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean


class Calibration(NamedTuple):
    """r: Pearson's correlation with the rating. preferred: of those whose two ratings differ, the share whose better statement
    has the better score (ties half). bias and error: score minus rating and its size, for scores on the ratings' scale. missing:
    ratings without a score.
    """

    r: ClusteredMean
    preferred: ClusteredMean
    bias: ClusteredMean
    error: ClusteredMean
    missing: int


def rated_statements(episodes: Sequence[Episode]) -> list[tuple[str, str, str, float]]:
    """(episode, participant, which statement, rating) of every final rating there is."""
    return [
        (episode.id, voice.participant, name, float(value))
        for episode in episodes
        for voice in episode.voices
        for name in STATEMENTS
        if getattr(episode, name) is not None and (value := voice.agreement.get(name)) is not None
    ]


def calibrate_payoff(rows: pd.DataFrame, same_scale: bool) -> Calibration:
    """rows: participant, episode, statement, rating, score (NaN: missing). Intervals over participants."""
    there = rows.dropna(subset=["score"])
    gap = (there["score"] - there["rating"]) if same_scale else pd.Series(math.nan, there.index)
    wide = there.pivot_table(["rating", "score"], ["participant", "episode"], "statement")
    return Calibration(
        _correlated(there),
        _preferred(wide),
        clustered_mean(gap, there["participant"]),
        clustered_mean(gap.abs(), there["participant"]),
        int(rows["score"].isna().sum()),
    )


def _correlated(rows: pd.DataFrame) -> ClusteredMean:
    x, y = rows["rating"], rows["score"]
    sums = (
        pd.DataFrame({"n": 1.0, "x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y})
        .groupby(rows["participant"])
        .sum()
    )
    table = sums.to_numpy(dtype=float)
    value = float(correlation(table.sum(axis=0))) if len(table) else math.nan
    return ClusteredMean(value, *correlation_interval(table), len(rows), len(table))


def _preferred(wide: pd.DataFrame) -> ClusteredMean:
    """wide: (rating, score) by statement, a row a participant and episode."""
    if not {("rating", name) for name in STATEMENTS} <= set(wide.columns):
        return ClusteredMean(math.nan, math.nan, math.nan, 0, 0)
    rating, score = (wide[what]["revision"] - wide[what]["draft"] for what in ("rating", "score"))
    told = (rating != 0) & rating.notna() & score.notna()
    points = (np.sign(score[told]) * np.sign(rating[told]) + 1) / 2
    people = pd.Series(points.index.get_level_values("participant"), index=points.index)
    return clustered_mean(points, people)
