"""The published procedure, exactly, beside tests whose unit is the run (UCL study, Tables 2 and 5; their public code).

What they do and the paper does not say: each score from the third statement on is averaged with the smoothed one before it;
the ANOVA of a comparison takes, for each condition, the mean of each statement of each agent over runs as one unit (12 statements
of three agents: 36); Levene's test takes the quartile ranges of the same 36. Statements of one debate are not independent, and
their number says nothing of how often debates were held: ten runs or a thousand give the same 36 units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats
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
    """Each score from statement `start` on becomes `ema` of it and the rest of the smoothed one before it, run by run.

    A score that is missing stays missing; the next one goes on from the last that is there.
    """
    ordered = scores.sort_values("statement", kind="stable")
    found = ordered.groupby(["topic", "condition", "run", "agent"], sort=False)["score"].transform(
        lambda line: _smooth(line.to_numpy(dtype=float), ema, start)
    )
    return scores.assign(score=found)


def _smooth(line: Floats, ema: float, start: int) -> Floats:
    out = line.copy()
    last = np.nan
    for place, score in enumerate(line):
        if np.isfinite(score):
            out[place] = last = ema * score + (1 - ema) * last if place + 1 >= start and np.isfinite(last) else score
    return out


def compare(scores: pd.DataFrame, published: bool) -> pd.DataFrame:
    """Every two conditions by topic, then all of a topic's: level and spread (see `Result`), with columns topic and procedure."""
    found = pd.concat([_topic(str(topic), rows, published) for topic, rows in scores.groupby("topic", sort=False)])
    return found.reset_index(drop=True)


def _topic(topic: str, scores: pd.DataFrame, published: bool) -> pd.DataFrame:
    results = table(_results(smoothed(scores) if published else scores, published))
    results.insert(0, "procedure", "published" if published else "by run")
    results.insert(0, "topic", topic)
    return results


def _results(scores: pd.DataFrame, published: bool) -> Iterator[Result]:
    levels = statement_means(scores) if published else run_means(scores)
    ranges = statement_ranges(scores) if published else levels
    unit = "statement mean" if published else "run"
    chosen = [*combinations(levels, 2), *([tuple(levels)] if len(levels) > 2 else [])]
    for names in chosen:
        effect = " / ".join(names)
        yield level(effect, {name: levels[name] for name in names}, unit, equal=published)
        yield spread(
            effect, {name: ranges[name] for name in names}, "statement IQR" if published else unit, not published
        )


def statement_means(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the mean over runs of each statement of each agent."""
    return _by_condition(scores, lambda line: np.nanmean(line, axis=0))


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
