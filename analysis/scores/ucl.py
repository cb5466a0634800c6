"""The published procedure, exactly, beside tests whose unit is the run (UCL study, Tables 2 and 5; their public code).

What they do and the paper does not say: each score from the third statement on is averaged with the smoothed one before it;
the ANOVA of a comparison takes, for each condition, the mean of each statement of each agent over runs as one unit (12 statements
of three agents: 36); Levene's test (by medians, scipy's way) takes the quartile ranges of the same 36. Statements of one debate
are not independent, and their number says nothing of how often debates were held: ten runs or a thousand give the same 36 units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats
from analysis.gaps import nanmean
from analysis.scores.gradients import quartile_range
from analysis.scores.table import lines
from analysis.statistics.groups import level, spread
from analysis.statistics.results import Result, table

EMA, FROM = 0.5, 3
"""Weight of a score against the smoothed one before it, and the first statement that is smoothed."""
DIFFER = (
    "Published and run-level results differ because the first takes each statement of each agent as a unit (mean over runs), "
    "smoothed over time: its n is the length of the debate and not how often it was held. The second takes one mean a run."
)


def smoothed(scores: pd.DataFrame, ema: float = EMA, start: int = FROM) -> pd.DataFrame:
    """Each score from statement number `start` on becomes `ema` of it and the rest of the smoothed one before it, run by run.

    A score that is missing stays missing; the next one goes on from the last that is there.
    """
    ordered = scores.sort_values("statement", kind="stable")
    found = pd.Series(np.nan, index=scores.index)
    for _, line in ordered.groupby(["topic", "condition", "run", "agent"], sort=False):
        found[line.index] = _smooth(line["score"].to_numpy(dtype=float), line["statement"].to_numpy() >= start, ema)
    return scores.assign(score=found)


def _smooth(line: Floats, smooth: np.ndarray, ema: float) -> Floats:
    out = line.copy()
    last = np.nan
    for place, score in enumerate(line):
        if np.isfinite(score):
            out[place] = last = ema * score + (1 - ema) * last if smooth[place] and np.isfinite(last) else score
    return out


def compare(scores: pd.DataFrame, published: bool, chosen: Sequence[Sequence[str]] | None = None) -> pd.DataFrame:
    """Conditions by topic: level and spread (see `Result`), with columns topic and procedure.

    chosen: which conditions are compared with each other; else every two, then all of a topic's. Compared are the agents that sit
    in all of them: a room's mean says nothing of a room of others.
    """
    found = [_topic(str(topic), rows, published, chosen) for topic, rows in scores.groupby("topic", sort=False)]
    return pd.concat(found).reset_index(drop=True)


def _topic(topic: str, scores: pd.DataFrame, published: bool, chosen: Sequence[Sequence[str]] | None) -> pd.DataFrame:
    results = table(_results(smoothed(scores) if published else scores, published, chosen))
    results.insert(0, "procedure", "published" if published else "by run")
    results.insert(0, "topic", topic)
    return results


def _results(scores: pd.DataFrame, published: bool, chosen: Sequence[Sequence[str]] | None) -> Iterator[Result]:
    agents = {str(name): set(part["agent"]) for name, part in scores.groupby("condition", sort=False)}
    if chosen is None:
        chosen = [*combinations(agents, 2), *([tuple(agents)] if len(agents) > 2 else [])]
    unit = "statement mean" if published else "run"
    for names in chosen:
        effect, shared = " / ".join(names), set.intersection(*(agents.get(name, set()) for name in names))
        rows = scores[scores["condition"].isin(names) & scores["agent"].isin(shared)]
        if rows.empty:
            yield Result(effect, unit, 0, "", "", reason="no agent sits in all of them")
            continue
        levels = statement_means(rows) if published else run_means(rows)
        yield level(effect, levels, unit, equal=published)
        yield spread(effect, statement_ranges(rows) if published else levels, "statement IQR" if published else unit)


def statement_means(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the mean over runs of each statement of each agent."""
    return _by_condition(scores, nanmean)


def statement_ranges(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the quartile range over runs of each statement of each agent."""
    return _by_condition(scores, quartile_range)


def _by_condition(scores: pd.DataFrame, of: Callable[[Floats], Floats]) -> dict[str, Floats]:
    found: dict[str, list[Floats]] = {}
    for line in lines(scores):
        found.setdefault(line.condition, []).append(of(line.scores))
    return {condition: np.concatenate(parts) for condition, parts in found.items()}


def run_means(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the mean of each run over its agents' means."""
    agents = scores.groupby(["condition", "run", "agent"], sort=False)["score"].mean()
    runs = agents.groupby(level=["condition", "run"], sort=False).mean()
    return {
        str(condition): part.to_numpy(dtype=float) for condition, part in runs.groupby(level="condition", sort=False)
    }
