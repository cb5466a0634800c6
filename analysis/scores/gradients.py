"""Slopes over statements, spread over runs, and the rule for echo chambers (UCL study, sections 3.4 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats, is_even, mean_interval
from parley.analysis.nan_statistics import nanmean, quartiles, slope
from parley.analysis.scores.table import MIDDLE, ScoreLine, lines

NOTHING = 1e-9
"""Points a statement that are rounding."""
OUTWARD, CONVERTED, NEITHER, UNKNOWN = "outward", "converted", "neither", f"fewer than {FEWEST} runs"
ECHO, NONE = "echo chamber", "none"


def gradients(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one row a topic, condition and agent: runs, mean, change (last - first), iqr (mean over statements), slope.

    The slope (points a statement) is the mean of the runs' slopes, with its 95% interval over runs. `way` is where the agent
    went: outward, converted, neither (see `echo_chambers`), or that there are too few runs to say so.
    """
    return pd.DataFrame([_row(line) for line in lines(scores)])


def echo_chambers(scores: pd.DataFrame, partisans: dict[str, str]) -> pd.DataFrame:
    """Return whether a party's agents drove each other outward: one row a topic, condition and party with two agents or more.

    partisans: party by agent. An agent's side is that of its first statements. It went outward when its slope points away from
    the middle on that side and it ends there, further out than it began. It was converted when it ends on the other side. Both
    only where intervals over runs leave out the middle and a slope of 0. An echo chamber has formed when all agents of the
    party went outward. Columns: agents, outward and converted (how many of them), formed, outcome (echo chamber, converted when
    all of them were, none, or why nothing can be said; formed is missing then).

    The paper compares gradients with the baseline 4, which are different units; this is what it can mean.
    """
    found = gradients(scores)
    found = found.assign(party=found["agent"].map(partisans)).dropna(subset=["party"])
    rows = [
        {"topic": topic, "condition": condition, "party": party, **_outcome(list(part["way"]))}
        for (topic, condition, party), part in found.groupby(["topic", "condition", "party"], sort=False)
        if len(part) > 1
    ]
    columns = ["topic", "condition", "party", "agents", "outward", "converted", "formed", "outcome"]
    return pd.DataFrame(rows, columns=columns).astype({"formed": "boolean"})


def _outcome(ways: list[str]) -> dict[str, Any]:
    outward, converted = ways.count(OUTWARD), ways.count(CONVERTED)
    known = UNKNOWN not in ways
    outcome = ECHO if outward == len(ways) else CONVERTED if converted == len(ways) else NONE
    counts = {"agents": len(ways), "outward": outward, "converted": converted}
    return {**counts, "formed": outcome == ECHO if known else pd.NA, "outcome": outcome if known else UNKNOWN}


def quartile_range(scores: Floats) -> Floats:
    """Third less first quartile over runs (the first axis), by statement."""
    low, high = quartiles(scores)
    return high - low


def _row(line: ScoreLine) -> dict[str, Any]:
    means = nanmean(line.scores)
    each = slope(line.scores, line.at)
    each = each[np.isfinite(each)]
    low, high = mean_interval(each)
    return {
        "topic": line.topic,
        "condition": line.condition,
        "agent": line.agent,
        "runs": len(line.scores),
        "mean": float(nanmean(means)),
        "change": float(means[-1] - means[0]),
        "iqr": float(nanmean(quartile_range(line.scores))),
        "slope": float(nanmean(each)),
        "slope_low": low,
        "slope_high": high,
        "way": _way(line, each),
    }


def _way(line: ScoreLine, slopes: Floats) -> str:
    """Whether an agent went outward from its opening, or over to the other side."""
    start, end = (scores[np.isfinite(scores)] for scores in (line.scores[:, 0], line.scores[:, -1]))
    if min(len(start), len(end), len(slopes)) < FEWEST:
        return UNKNOWN
    side, ended, heading = _sign(start - MIDDLE), _sign(end - MIDDLE), _sign(slopes)
    further = abs(float(end.mean()) - MIDDLE) > abs(float(start.mean()) - MIDDLE)
    if side and heading == side and further and np.sign(end.mean() - MIDDLE) == side:
        return OUTWARD
    return CONVERTED if side and heading == ended == -side else NEITHER


def _sign(values: Floats) -> int:
    """The side of 0 on which the mean of values is for sure; 0 where their interval holds 0."""
    if is_even(values):
        return int(np.sign(values.mean())) if abs(values.mean()) > NOTHING else 0
    low, high = mean_interval(values)
    return int(low > NOTHING) - int(high < -NOTHING)
