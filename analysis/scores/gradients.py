"""Slopes over statements, spread over runs, and the rule for echo chambers (UCL study, sections 3.4 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval
from analysis.gaps import nanmean, quartiles, slope
from analysis.scores.table import MIDDLE, Line, lines

NOTHING = 1e-9
"""Points a statement that are rounding."""


def gradients(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a topic, condition and agent: runs, mean, change (last - first), iqr (mean over statements), slope (points a
    statement) with its 95% interval (bootstrap over runs).
    """
    return pd.DataFrame([_row(line) for line in lines(scores)])


def echo_chambers(scores: pd.DataFrame, partisans: dict[str, str]) -> pd.DataFrame:
    """Did a party's agents drive each other outward? One row a topic, condition and party with at least two agents.

    partisans: party by agent. An echo chamber has formed when every agent of the party has a slope that points away from the
    middle of the scale on the side where its mean is, and whose interval leaves out 0. The paper compares "gradients" with the
    baseline 4, which are different units; this is what it can mean. Columns: agents, outward (how many of them), formed (missing
    where an agent has no interval, as with one run).
    """
    found = gradients(scores)
    side = np.sign(found["mean"] - MIDDLE)
    sure = (found["slope_low"] > NOTHING) | (found["slope_high"] < -NOTHING)
    outward = sure & (np.sign(found["slope"]) == side) & (side != 0)
    found = found.assign(party=found["agent"].map(partisans), outward=outward, known=found["slope_low"].notna())
    parties = found.dropna(subset=["party"]).groupby(["topic", "condition", "party"], sort=False)
    rows = parties.agg(agents=("outward", "size"), outward=("outward", "sum"), known=("known", "all")).reset_index()
    formed = (rows["outward"] == rows["agents"]).astype("boolean").mask(~rows["known"])
    return rows.drop(columns="known").assign(formed=formed)[rows["agents"] > 1].reset_index(drop=True)


def quartile_range(scores: Floats) -> Floats:
    """Third less first quartile over runs (the first axis), by statement."""
    low, high = quartiles(scores)
    return high - low


def _row(line: Line) -> dict[str, Any]:
    means = nanmean(line.scores)
    at = line.at
    low, high = interval(line.scores, lambda drawn: slope(nanmean(drawn, 1), at), "slope", *line[:3])
    return {
        "topic": line.topic,
        "condition": line.condition,
        "agent": line.agent,
        "runs": len(line.scores),
        "mean": float(nanmean(means)),
        "change": float(means[-1] - means[0]),
        "iqr": float(nanmean(quartile_range(line.scores))),
        "slope": float(slope(means, at)),
        "slope_low": low,
        "slope_high": high,
    }
