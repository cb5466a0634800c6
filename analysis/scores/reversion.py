"""How far agents go in a debate, and whether they return: slopes, echo chambers, reversion (UCL study).

The reversion ratio (Eq 2) is R = (middle - last) / (middle - first) of an agent's scores over runs. R is 1 if the last statement
is back at the first, 0 if it is still at the middle of the debate, negative if it went on. The authors' code has three rules:

    mean         means over runs; the middle is the mean of all statements but the first and the last
    median       medians over runs of the first and of the last statement; the middle is the median of all scores between them
    penultimate  means over runs; the middle is the last statement but one

R divides by how far the agent moved, and can be anything if that is little: if |middle - first| is below `LEAST`, R is undefined,
counted and left out (`zero`: 0 where the distance is exactly 0, as in the paper). The mean of such ratios over topics depends on
the smallest denominator; `pooled` is the ratio of the sums, each topic turned so that its agent moved upward (topics run opposite
ways). If it is not sure which way the agent moved, a ratio has no bounds and no interval. The unit of an interval is the cast
where it is known: the same people debate every topic. One cast that sits in all runs has the run as its unit, topic by topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.scores.table import MIDDLE, ScoreLine, casts, lines
from parley.analysis.statistics import intervals
from parley.analysis.statistics.intervals import FEWEST, Floats, nanmean, nanmedian, with_interval
from parley.llm.seeding import derive

Places = list[NDArray[np.intp]]
ZERO_SLOPE = 1e-9
"""Points per statement: a smaller slope is rounding."""
OUTWARD, CONVERTED, NEITHER, UNKNOWN = "outward", "converted", "neither", f"fewer than {FEWEST} runs"
ECHO, NO_ECHO = "echo chamber", "none"
LEAST, ZERO, SHORTEST = 0.05, 1e-9, 3
"""Points of 1-7, twice; statements."""
FEWEST_DRAWN = 10
"""Casts, or runs, that the interval of a ratio needs: with five, 9 to 12% of the intervals miss (docs/exam.md)."""
SURE = 0.975
"""The share of draws in which a denominator must have its sign."""
REFERENCES = ("mean", "median", "penultimate")
STATISTICS = ("mean", "median", "pooled")


def gradients(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic, condition and agent: runs, mean, change (last - first), iqr (mean over statements), slope.

    The slope (points per statement) is the mean of the runs' slopes, with its 95% interval over runs. way: where the agent went:
    outward, converted, neither (see `echo_chambers`), or that there are too few runs to say so.
    """
    return pd.DataFrame([_slope_row(line) for line in lines(scores)])


def echo_chambers(scores: pd.DataFrame, partisans: dict[str, str]) -> pd.DataFrame:
    """Return whether a party's agents drove each other outward: one row per topic, condition and party with two agents or more.

    partisans: party by agent. An agent's side is that of its first statements. It went outward if its slope points away from the
    middle on that side and it ends there, further out than it began. It was converted if it ends on the other side. Both count
    only if intervals over runs exclude the middle and a slope of 0. An echo chamber has formed if all agents of the party went
    outward. Columns: agents, outward and converted (how many of them), formed, outcome (echo chamber, converted if all of them
    were, none, or why nothing can be said; formed is missing then).

    The paper compares gradients with the baseline 4, which has another unit; this is what it can mean.
    """
    slopes = gradients(scores)
    slopes = slopes.assign(party=slopes["agent"].map(partisans)).dropna(subset=["party"])
    rows = [
        {"topic": topic, "condition": condition, "party": party, **_outcome(list(party_slopes["way"]))}
        for (topic, condition, party), party_slopes in slopes.groupby(["topic", "condition", "party"], sort=False)
        if len(party_slopes) > 1
    ]
    columns = ["topic", "condition", "party", "agents", "outward", "converted", "formed", "outcome"]
    return pd.DataFrame(rows, columns=columns).astype({"formed": "boolean"})


def _outcome(ways: list[str]) -> dict[str, Any]:
    counts = {"agents": len(ways), "outward": ways.count(OUTWARD), "converted": ways.count(CONVERTED)}
    if UNKNOWN in ways:
        return {**counts, "formed": pd.NA, "outcome": UNKNOWN}
    outcome = ECHO if set(ways) == {OUTWARD} else CONVERTED if set(ways) == {CONVERTED} else NO_ECHO
    return {**counts, "formed": outcome == ECHO, "outcome": outcome}


def quartile_range(scores: Floats) -> Floats:
    """The third minus the first quartile over runs (the first axis), by statement."""
    low, high = intervals.quartiles(scores)
    return high - low


def _slope_row(line: ScoreLine) -> dict[str, Any]:
    means, slopes = nanmean(line.scores), intervals.slope(line.scores, line.at)
    slopes = slopes[np.isfinite(slopes)]
    low, high = intervals.mean_interval(slopes)
    return {
        "topic": line.topic,
        "condition": line.condition,
        "agent": line.agent,
        "runs": len(line.scores),
        "mean": float(nanmean(means)),
        "change": float(means[-1] - means[0]),
        "iqr": float(nanmean(quartile_range(line.scores))),
        "slope": float(nanmean(slopes)),
        "slope_low": low,
        "slope_high": high,
        "way": _way(line, slopes),
    }


def _way(line: ScoreLine, slopes: Floats) -> str:
    """Whether an agent went outward from its opening, or over to the other side."""
    start, end = (scores[np.isfinite(scores)] for scores in (line.scores[:, 0], line.scores[:, -1]))
    if min(len(start), len(end), len(slopes)) < FEWEST:
        return UNKNOWN
    side, ended, heading = _sign(start - MIDDLE), _sign(end - MIDDLE), _sign(slopes)
    first, last = float(start.mean()) - MIDDLE, float(end.mean()) - MIDDLE
    if side and heading == side == np.sign(last) and abs(last) > abs(first):
        return OUTWARD
    return CONVERTED if side and heading == ended == -side else NEITHER


def _sign(values: Floats) -> int:
    """The side of 0 on which the mean of values is for sure; 0 if their interval includes 0."""
    if intervals.is_even(values):
        return int(np.sign(values.mean())) if abs(values.mean()) > ZERO_SLOPE else 0
    low, high = intervals.mean_interval(values)
    return int(low > ZERO_SLOPE) - int(high < -ZERO_SLOPE)


def ratios(
    scores: pd.DataFrame, reference: str = "mean", zero: bool = False, people: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per condition and agent: reference, topics, undefined (topics without R), and R over topics.

    R is given as mean, median and pooled, with 95% intervals (cluster bootstrap over casts with all their topics; without people
    (`PEOPLE`), and with one cast alone, over runs, topic by topic).
    """
    units = None if people is None else casts(people)
    groups: dict[tuple[str, str], list[ScoreLine]] = {}
    for line in lines(scores):
        groups.setdefault((line.condition, line.agent), []).append(line)
    return pd.DataFrame(
        [_reversion_row(*key, group, reference, zero, _places(group, units)) for key, group in groups.items()]
    )


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
    condition: str, agent: str, group: Sequence[ScoreLine], reference: str, zero: bool, places: Places
) -> dict[str, object]:
    moved, back = _by_topic([_parts(line.scores, reference) for line in group])
    way, count = np.sign(moved), len(places[0]) if places else min(len(line.scores) for line in group)
    estimates, defined = _over_topics(moved, back, way, zero), np.isfinite(_divided(moved, back, zero))
    undefined = int((~(np.abs(moved) >= (ZERO if zero else LEAST))).sum())
    row: dict[str, object] = {"condition": condition, "agent": agent, "reference": reference}
    row |= {"topics": len(group), "undefined": undefined}
    ends = _ends(_draws(condition, agent, group, reference, places), way, defined, zero, count)
    for name in STATISTICS:
        row |= with_interval(name, float(estimates[name]), ends[name])
    return row


def _by_topic(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Both parts of the ratio of several topics, each as one array."""
    moved, back = (np.array(ratio_side) for ratio_side in zip(*pairs, strict=True))
    return moved, back


def _places(group: Sequence[ScoreLine], units: pd.Series | None) -> Places:
    """Return by topic the rows of each cast, (casts, runs), casts in the same order; empty where the run is the unit.

    units: of `casts`. The run is the unit without them, for one cast alone, and where casts have unequal numbers of runs.
    """
    if units is None:
        return []
    places_by_line = []
    for line in group:
        run_units = units.reindex(pd.MultiIndex.from_product([[line.condition], line.runs])).to_numpy()
        places_by_line.append(pd.Series(run_units).groupby(run_units).indices)
    pairs = [
        (line, places, rows) for line, places in zip(group, places_by_line, strict=True) for rows in places.values()
    ]
    even = all(len(line.runs) == len(places) * len(rows) for line, places, rows in pairs)
    if not even or len({tuple(places) for places in places_by_line}) > 1 or len(places_by_line[0]) < 2:
        return []
    return [np.array(list(places.values())) for places in places_by_line]


def _draws(
    condition: str, agent: str, group: Sequence[ScoreLine], reference: str, places: Places
) -> tuple[Floats, Floats]:
    """(topics, DRAWS) twice: both parts of the ratio, of casts drawn with all their topics, or of runs drawn topic by topic."""
    rng = np.random.default_rng(derive(0, "reversion", condition, agent))
    if places:
        chosen = rng.integers(0, len(places[0]), (intervals.DRAWS, len(places[0])))
        drawn = [rows[chosen].reshape(intervals.DRAWS, -1) for rows in places]
    else:
        sizes = (len(line.scores) for line in group)
        drawn = [rng.integers(0, runs, (intervals.DRAWS, runs)) for runs in sizes]
    return _by_topic([_parts(line.scores[rows], reference) for line, rows in zip(group, drawn, strict=True)])


def _ends(
    drawn: tuple[Floats, Floats], way: Floats, defined: np.ndarray, zero: bool, count: int
) -> dict[str, tuple[float, float]]:
    """The ends of each statistic's interval; NaN if a denominator's sign is not sure, the `count` units are few or all alike."""
    moved, back = drawn
    kept = defined & (way != 0)
    alone = (np.sign(moved) == way[:, None]).mean(axis=1)[kept].min(initial=1.0) >= SURE
    pooled = ((moved * way[:, None])[kept].sum(axis=0) > 0).mean() >= SURE
    statistics = _over_topics(moved, back, way, zero)
    ends = {}
    for name in STATISTICS:
        draws = statistics[name][np.isfinite(statistics[name])]
        sure = count >= FEWEST_DRAWN and len(draws) > intervals.DRAWS / 2 and (pooled if name == "pooled" else alone)
        low, high = np.quantile(draws, [intervals.tail(count), 1 - intervals.tail(count)]) if sure else intervals.NONE
        ends[name] = (float(low), float(high)) if high - low > intervals.ALIKE else intervals.NONE
    return ends


def _over_topics(moved: Floats, back: Floats, way: Floats, zero: bool) -> dict[str, Floats]:
    ratios = _divided(moved, back, zero)
    turned = way.reshape(-1, *[1] * (moved.ndim - 1))
    both_finite = np.isfinite(moved) & np.isfinite(back)
    up, down = (np.where(both_finite, ratio_side * turned, 0.0).sum(axis=0) for ratio_side in (moved, back))
    pooled = np.where(both_finite.any(axis=0), _divided(up, down, zero), np.nan)
    return {"mean": nanmean(ratios), "median": nanmedian(ratios), "pooled": pooled}
