"""Slopes over statements, spread over runs, and the rule for echo chambers (UCL study, sections 3.4 and 4).

Do speakers return to where they began? The reversion ratio (UCL study, Eq 2).

R = (middle - last) / (middle - first) of an agent's scores over runs: 1 when the last statement is where the first was, 0 when
it is where the middle of the debate was, negative when it moved on. Its authors' code has three rules, and so has this one:

    mean         means over runs; the middle is the mean of all statements but the first and the last
    median       medians over runs of the first and of the last statement; the middle is the median of all scores between them
    penultimate  means over runs; the middle is the last statement but one

R divides by how far the agent moved at all, and is anything when that is little: where |middle - first| is below `LEAST` it is
undefined, counted and left out (`zero`: 0 where it is exactly 0, as in the paper). Means of such ratios over topics are at the
mercy of the smallest denominator; `pooled` is the ratio of the sums, each topic turned so that its agent moved upward (topics
run opposite ways). Where it is not sure which way the agent moved, a ratio is not bounded and has no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import (
    ALIKE,
    DRAWS,
    FEWEST,
    NONE,
    Floats,
    is_even,
    mean_interval,
    nanmean,
    nanmedian,
    quartiles,
    slope,
    tail,
)
from parley.analysis.scores.table import MIDDLE, ScoreLine, lines
from parley.llm.seeding import derive

ZERO_SLOPE = 1e-9
"""Points a statement that are rounding."""
OUTWARD, CONVERTED, NEITHER, UNKNOWN = "outward", "converted", "neither", f"fewer than {FEWEST} runs"
ECHO, NO_ECHO = "echo chamber", "none"


def gradients(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one row a topic, condition and agent: runs, mean, change (last - first), iqr (mean over statements), slope.

    The slope (points a statement) is the mean of the runs' slopes, with its 95% interval over runs. `way` is where the agent
    went: outward, converted, neither (see `echo_chambers`), or that there are too few runs to say so.
    """
    return pd.DataFrame([_slope_row(line) for line in lines(scores)])


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
    outcome = ECHO if outward == len(ways) else CONVERTED if converted == len(ways) else NO_ECHO
    counts = {"agents": len(ways), "outward": outward, "converted": converted}
    return {**counts, "formed": outcome == ECHO if known else pd.NA, "outcome": outcome if known else UNKNOWN}


def quartile_range(scores: Floats) -> Floats:
    """Third less first quartile over runs (the first axis), by statement."""
    low, high = quartiles(scores)
    return high - low


def _slope_row(line: ScoreLine) -> dict[str, Any]:
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
        return int(np.sign(values.mean())) if abs(values.mean()) > ZERO_SLOPE else 0
    low, high = mean_interval(values)
    return int(low > ZERO_SLOPE) - int(high < -ZERO_SLOPE)


LEAST, ZERO, SHORTEST = 0.05, 1e-9, 3
"""Points of 1-7, twice; statements."""
SURE = 0.975
"""Share of draws in which a denominator must have its sign."""
REFERENCES = ("mean", "median", "penultimate")
STATISTICS = ("mean", "median", "pooled")


def ratios(scores: pd.DataFrame, reference: str = "mean", zero: bool = False) -> pd.DataFrame:
    """One row a condition and agent: reference, topics, undefined (topics without R), and mean, median, pooled over topics with
    95% intervals (cluster bootstrap over runs, topic by topic).
    """
    found: dict[tuple[str, str], list[ScoreLine]] = {}
    for line in lines(scores):
        found.setdefault((line.condition, line.agent), []).append(line)
    return pd.DataFrame([_reversion_row(*key, group, reference, zero) for key, group in found.items()])


def ratio(scores: Floats, reference: str = "mean", zero: bool = False) -> float:
    """Return R of one line of scores by statement; NaN where it is undefined.

    >>> round(ratio(np.array([2.0, 4.0, 4.0, 3.0])), 2)
    0.5
    """
    moved, back = parts(scores, reference)
    return float(_divided(np.array([moved]), np.array([back]), zero)[0])


def parts(scores: Floats, reference: str) -> tuple[Floats, Floats]:
    """Return middle - first and middle - last of lines of scores, along the last axis."""
    return _parts(scores[..., None, :], reference)


def _parts(scores: Floats, reference: str) -> tuple[Floats, Floats]:
    """middle - first and middle - last of (..., runs, statements); NaN with fewer than three statements, which have no middle."""
    if scores.shape[-1] < SHORTEST:
        return np.full(scores.shape[:-2], np.nan), np.full(scores.shape[:-2], np.nan)
    if reference == "median":
        first, last = nanmedian(scores[..., 0], -1), nanmedian(scores[..., -1], -1)
        between = scores[..., 1:-1]
        middle = nanmedian(between.reshape(*between.shape[:-2], -1), -1)
    else:
        line = nanmean(scores, -2)
        first, last = line[..., 0], line[..., -1]
        middle = nanmean(line[..., 1:-1], -1) if reference == "mean" else line[..., -2]
    return middle - first, middle - last


def _divided(moved: Floats, back: Floats, zero: bool) -> Floats:
    there = np.abs(moved) >= (ZERO if zero else LEAST)
    undefined = np.where(np.isnan(moved), np.nan, 0.0) if zero else np.nan
    return np.where(there, back / np.where(there, moved, 1.0), undefined)


def _reversion_row(
    condition: str, agent: str, group: Sequence[ScoreLine], reference: str, zero: bool
) -> dict[str, object]:
    moved, back = (np.array(part) for part in zip(*(_parts(line.scores, reference) for line in group), strict=True))
    way = np.sign(moved)
    true, each = _over_topics(moved, back, way, zero), _divided(moved, back, zero)
    undefined = int((~(np.abs(moved) >= (ZERO if zero else LEAST))).sum())
    row: dict[str, object] = {"condition": condition, "agent": agent, "reference": reference}
    row |= {"topics": len(group), "undefined": undefined}
    drawn = _drawn(condition, agent, group, reference)
    ends = _ends(drawn, way, np.isfinite(each), zero, min(len(line.scores) for line in group))
    for name in STATISTICS:
        row |= {name: float(true[name]), f"{name}_low": ends[name][0], f"{name}_high": ends[name][1]}
    return row


def _drawn(condition: str, agent: str, group: Sequence[ScoreLine], reference: str) -> tuple[Floats, Floats]:
    """(topics, DRAWS) twice: both parts of the ratio, of runs drawn topic by topic."""
    rng = np.random.default_rng(derive(0, "reversion", condition, agent))
    resampled = []
    for line in group:
        runs = len(line.scores)
        resampled.append(_parts(line.scores[rng.integers(0, runs, (DRAWS, runs))], reference))
    moved, back = (np.stack(part) for part in zip(*resampled, strict=True))
    return moved, back


def _ends(
    drawn: tuple[Floats, Floats], way: Floats, counted: np.ndarray, zero: bool, runs: int
) -> dict[str, tuple[float, float]]:
    """The ends of each statistic's interval; NaN where a denominator's sign is not sure, runs are few or all alike."""
    moved, back = drawn
    kept = counted & (way != 0)
    alone = (np.sign(moved) == way[:, None]).mean(axis=1)[kept].min(initial=1.0) >= SURE
    pooled = ((moved * way[:, None])[kept].sum(axis=0) > 0).mean() >= SURE
    found = _over_topics(moved, back, way, zero)
    ends = {}
    for name in STATISTICS:
        known = found[name][np.isfinite(found[name])]
        sure = runs >= FEWEST and len(known) > DRAWS / 2 and (pooled if name == "pooled" else alone)
        low, high = np.quantile(known, [tail(runs), 1 - tail(runs)]) if sure else (np.nan, np.nan)
        ends[name] = (float(low), float(high)) if high - low > ALIKE else NONE
    return ends


def _over_topics(moved: Floats, back: Floats, way: Floats, zero: bool) -> dict[str, Floats]:
    each = _divided(moved, back, zero)
    turned = way.reshape(-1, *[1] * (moved.ndim - 1))
    known = np.isfinite(moved) & np.isfinite(back)
    up, down = (np.where(known, part * turned, 0.0).sum(axis=0) for part in (moved, back))
    pooled = np.where(known.any(axis=0), _divided(up, down, zero), np.nan)
    return {"mean": nanmean(each), "median": nanmedian(each), "pooled": pooled}
