"""Slopes over statements, spread over runs, and the rule for echo chambers (UCL study, sections 3.4 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval
from analysis.scores.table import MIDDLE, Line, lines


def gradients(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a topic, condition and agent: runs, mean, change (last - first), iqr (mean over statements), slope (points a
    statement) with its 95% interval (bootstrap over runs).
    """
    return pd.DataFrame([_row(line) for line in lines(scores)])


def echo_chambers(scores: pd.DataFrame, partisans: dict[str, str]) -> pd.DataFrame:
    """Did a party's agents drive each other outward? One row a topic, condition and party with at least two agents.

    partisans: party by agent. An echo chamber has formed when every agent of the party has a slope that points away from the
    middle of the scale on the side where its mean is, and whose interval leaves out 0. The paper compares "gradients" with the
    baseline 4, which are different units; this is what it can mean. Columns: agents, outward (how many of them), formed.
    """
    found = gradients(scores)
    side = np.sign(found["mean"] - MIDDLE)
    sure = (found["slope_low"] > 0) | (found["slope_high"] < 0)
    found = found.assign(
        party=found["agent"].map(partisans), outward=sure & (np.sign(found["slope"]) == side) & (side != 0)
    )
    parties = found.dropna(subset=["party"]).groupby(["topic", "condition", "party"], sort=False)["outward"]
    rows = parties.agg(agents="size", outward="sum").reset_index()
    return rows[rows["agents"] > 1].assign(formed=lambda row: row["outward"] == row["agents"]).reset_index(drop=True)


def slope(scores: Floats) -> Floats:
    """Least squares over statements 1, 2, ..., along the last axis, of scores without gaps.

    >>> float(slope(np.array([1.0, 2.0, 3.0])))
    1.0
    """
    place = np.arange(scores.shape[-1]) - (scores.shape[-1] - 1) / 2
    return np.asarray(scores @ place / (place @ place))


def quartile_range(scores: Floats) -> Floats:
    """Third less first quartile over runs (the first axis), by statement."""
    low, high = np.nanquantile(scores, [0.25, 0.75], axis=0)
    return np.asarray(high - low)


def _row(line: Line) -> dict[str, Any]:
    means = np.nanmean(line.scores, axis=0)
    low, high = interval(line.scores, lambda drawn: slope(np.nanmean(drawn, axis=1)), "slope", *line[:3])
    return {
        "topic": line.topic,
        "condition": line.condition,
        "agent": line.agent,
        "runs": len(line.scores),
        "mean": float(means.mean()),
        "change": float(means[-1] - means[0]),
        "iqr": float(quartile_range(line.scores).mean()),
        "slope": float(slope(means)),
        "slope_low": low,
        "slope_high": high,
    }
