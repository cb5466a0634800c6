"""Do speakers return to where they began? The reversion ratio (UCL study, Eq 2).

R = (middle - last) / (middle - first) of an agent's scores, averaged over runs: 1 when the last statement is where the first was,
0 when it is where the middle of the debate was, negative when it moved on. `middle` is the mean of all statements but the first
and the last; its authors' code also has the median of all of them and the last but one.

R divides by how far the agent moved at all, and is anything when that is little: where |middle - first| is below `LEAST` it is
undefined, counted and left out (`zero`: taken as 0, as the paper does). Means of such ratios over topics are at the mercy of the
smallest denominator; `pooled` is the ratio of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.bootstrap import DRAWS, Floats, tail
from analysis.scores.table import Line, lines
from llm.randomness import derive

LEAST, SHORTEST = 0.05, 3
"""Points of 1-7; statements."""
REFERENCES = ("mean", "median", "penultimate")
STATISTICS = ("mean", "median", "pooled")


def ratios(scores: pd.DataFrame, reference: str = "mean", zero: bool = False) -> pd.DataFrame:
    """One row a condition and agent: topics, undefined (topics without R), and mean, median, pooled over topics with 95%
    intervals (cluster bootstrap over runs, topic by topic).
    """
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines(scores):
        found.setdefault((line.condition, line.agent), []).append(line)
    return pd.DataFrame([_row(*key, group, reference, zero) for key, group in found.items()])


def ratio(scores: Floats, reference: str = "mean", zero: bool = False) -> float:
    """R of one line of means by statement; NaN where it is undefined.

    >>> round(ratio(np.array([2.0, 4.0, 4.0, 3.0])), 2)
    0.5
    """
    moved, back = parts(scores, reference)
    return float(_divided(np.array([moved]), np.array([back]), zero)[0])


def parts(scores: Floats, reference: str) -> tuple[Floats, Floats]:
    """middle - first and middle - last, along the last axis; NaN with fewer than three statements, which have no middle."""
    if scores.shape[-1] < SHORTEST:
        return np.full(scores.shape[:-1], np.nan), np.full(scores.shape[:-1], np.nan)
    middle = {
        "mean": lambda: np.nanmean(scores[..., 1:-1], axis=-1),
        "median": lambda: np.nanmedian(scores, axis=-1),
        "penultimate": lambda: scores[..., -2],
    }[reference]()
    return middle - scores[..., 0], middle - scores[..., -1]


def _divided(moved: Floats, back: Floats, zero: bool) -> Floats:
    there = np.abs(moved) >= LEAST
    undefined = np.where(np.isnan(moved), np.nan, 0.0) if zero else np.nan
    return np.where(there, back / np.where(there, moved, 1.0), undefined)


def _row(condition: str, agent: str, group: Sequence[Line], reference: str, zero: bool) -> dict[str, object]:
    means = [np.nanmean(line.scores, axis=0) for line in group]
    true = _over_topics([parts(line, reference) for line in means], zero)
    undefined = sum(not abs(parts(line, reference)[0]) >= LEAST for line in means)
    drawn = _drawn(condition, agent, group, reference, zero)
    row: dict[str, object] = {"condition": condition, "agent": agent, "topics": len(group), "undefined": int(undefined)}
    share = tail(min(len(line.scores) for line in group)) if min(len(line.scores) for line in group) > 1 else np.nan
    for name in STATISTICS:
        known = drawn[name][np.isfinite(drawn[name])]
        sure = np.isfinite(share) and len(known) > DRAWS / 2
        low, high = np.quantile(known, [share, 1 - share]) if sure else (np.nan, np.nan)
        row |= {name: float(true[name]), f"{name}_low": float(low), f"{name}_high": float(high)}
    return row


def _drawn(condition: str, agent: str, group: Sequence[Line], reference: str, zero: bool) -> dict[str, Floats]:
    rng = np.random.default_rng(derive(0, "reversion", condition, agent))
    resampled = []
    for line in group:
        runs = len(line.scores)
        resampled.append(parts(np.nanmean(line.scores[rng.integers(0, runs, (DRAWS, runs))], axis=1), reference))
    return _over_topics(resampled, zero)


def _over_topics(found: Sequence[tuple[Floats, Floats]], zero: bool) -> dict[str, Floats]:
    moved, back = (np.stack(part) for part in zip(*found, strict=True))
    each = _divided(moved, back, zero)
    defined = np.isfinite(each).any(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(each, axis=0) / np.isfinite(each).sum(axis=0)
    median = np.where(defined, np.nanmedian(np.where(defined, each, 0.0), axis=0), np.nan)
    return {"mean": mean, "median": median, "pooled": _divided(moved.sum(axis=0), back.sum(axis=0), zero)}
