"""The published procedure, exactly, and tests whose unit is the run (UCL study, Tables 2 and 5; their public code).

Their code does what the paper does not say. Each score from the third statement on is averaged with the smoothed score before
it. The ANOVA of a comparison takes, for each condition, the mean over runs of each statement of each agent as one unit (12
statements of three agents: 36). Levene's test (by medians, as in scipy) takes the quartile ranges of the same 36, so it asks
whether these ranges differ in spread, and not whether they differ. Statements of one debate are not independent, and their number
says nothing about how many debates were run: ten runs or a thousand give the same 36 units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from parley.analysis.scores.contrasts import ONE_EACH, by_cast, contrast
from parley.analysis.scores.reversion import quartile_range
from parley.analysis.scores.table import by_run, casts, lines, same_texts, values
from parley.analysis.statistics.groups import Result, level, permutation_test, spread, table
from parley.analysis.statistics.intervals import Floats, nanmean

EMA, FROM = 0.5, 3
"""The weight of a score against the smoothed score before it, and the first statement that is smoothed."""
NO_AGENT = "no agent sits in all of them"
THIRD, DIGITS = 1 / 3, 0.02
"""The mean of three calls of a judge is a multiple of a third; how far off one a score written with two digits may be."""
DIFFER = (
    "The published and the run-level results differ in their units. The published procedure takes each statement of each agent "
    "as a unit (its mean over runs), smoothed over time. So n of the published procedure is the length of the debate, not the "
    "number of runs. The procedure by run takes one mean per run, or one mean per cast (the people of a run) if conditions "
    "share their people. The published Levene test compares quartile ranges: do the ranges of statements differ in spread?"
)
LINE = ["topic", "condition", "run", "agent"]
Chosen = Sequence[Sequence[str]] | None


def smoothed(scores: pd.DataFrame) -> pd.DataFrame:
    """Each score from statement `FROM` on becomes `EMA` of it plus the rest of the smoothed score before it, run by run.

    A missing score stays missing; the next one is averaged with the last known one.
    """
    ordered = scores.sort_values("statement", kind="stable")
    smooth = pd.Series(np.nan, index=scores.index)
    for _, line in ordered.groupby(LINE, sort=False):
        smooth[line.index] = _smooth(line["score"].to_numpy(dtype=float), line["statement"].to_numpy() >= FROM)
    return scores.assign(score=smooth)


def _smooth(line: Floats, smooth: np.ndarray) -> Floats:
    out, last = line.copy(), np.nan
    for place, score in enumerate(line):
        if np.isfinite(score):
            out[place] = last = EMA * score + (1 - EMA) * last if smooth[place] and np.isfinite(last) else score
    return out


def is_smoothed(scores: pd.DataFrame) -> bool:
    """Return whether scores were smoothed already: undone they are thirds (as three calls of a judge give), as they are not.

    Scores that are means of a distribution are neither, and count as not smoothed.
    """
    if _are_thirds(scores["score"]):
        return False
    ordered = scores.sort_values("statement", kind="stable")
    before = ordered.groupby(LINE, sort=False)["score"].shift()
    undone = ((ordered["score"] - (1 - EMA) * before) / EMA).where(ordered["statement"] >= FROM, ordered["score"])
    return _are_thirds(undone)


def _are_thirds(scores: pd.Series) -> bool:
    parts = scores.dropna() / THIRD
    return bool(((parts - parts.round()).abs() * THIRD < DIGITS).all())


def compare(
    scores: pd.DataFrame,
    published: bool,
    chosen: Chosen = None,
    already: bool = False,
    people: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return conditions by topic: level and spread (see `Result`), with columns topic and procedure.

    chosen: which conditions are compared with each other; None: every two, then all of a topic's. Only agents that sit in all
    of the conditions are compared, because a room's mean says nothing about a room of others. already: the scores are smoothed.
    people: who sat where (analysis/scores/table.py), for the tests by run.
    """
    tables = []
    for topic, topic_scores in scores.groupby("topic", sort=False):
        rows, results = smoothed(topic_scores) if published and not already else topic_scores, list[Result]()
        for shared, names in _sets(rows, chosen):
            results += _published(shared, names) if published else _by_run(shared, names, people)
        tests = table(results)
        tests.insert(0, "procedure", "published" if published else "by run")
        tests.insert(0, "topic", str(topic))
        tables.append(tests)
    return pd.concat(tables).reset_index(drop=True)


def _sets(scores: pd.DataFrame, chosen: Chosen) -> Iterator[tuple[pd.DataFrame, Sequence[str]]]:
    """The scores of each set of conditions, of the agents that sit in all of them."""
    agents = {
        str(name): set(condition_scores["agent"]) for name, condition_scores in scores.groupby("condition", sort=False)
    }
    if chosen is None:
        chosen = [*combinations(agents, 2), *([tuple(agents)] if len(agents) > 2 else [])]
    for names in chosen:
        shared = set.intersection(*(agents.get(name, set()) for name in names))
        yield scores[scores["condition"].isin(names) & scores["agent"].isin(shared)], names


def _effect(names: Sequence[str]) -> str:
    """`a / b`; of more than three conditions the first and last, and how many."""
    return " / ".join(names) if len(names) < 4 else f"{names[0]} / ... / {names[-1]} (all {len(names)})"


def _published(rows: pd.DataFrame, names: Sequence[str]) -> Iterator[Result]:
    effect = _effect(names)
    if rows.empty:
        yield Result(effect, "statement mean", 0, "", "", reason=NO_AGENT)
        return
    yield level(effect, statement_means(rows), "statement mean", equal=True)
    yield spread(effect, statement_ranges(rows), "statement IQR", of="IQRs", least=3)


def _by_run(rows: pd.DataFrame, names: Sequence[str], people: pd.DataFrame | None) -> Iterator[Result]:
    """Level and spread over runs, or over casts if the conditions share several."""
    effect = _effect(names)
    if rows["score"].isna().all():
        yield Result(effect, "run", 0, "", "", reason=NO_AGENT)
        return
    runs = by_run(rows)
    if people is None:
        yield level(effect, values(runs), "run")
        yield spread(effect, values(runs), "run")
        return
    seated = people[people["condition"].isin(names)]
    units = casts(seated)
    several = units.nunique() > 1
    if len(names) == 2:
        yield replace(contrast(rows, people, names[0], names[1]), effect=effect)
    elif several:
        labelled = runs.join(units, on=["condition", "run"])
        yield permutation_test(effect, labelled, "value", "condition", ["unit"], unit="run")
    elif same_texts(seated):
        yield level(effect, values(runs), "run")
    else:
        yield Result(effect, "cast", 1, "", "", reason=ONE_EACH)
    if several:
        wide = by_cast(runs, seated)
        yield spread(effect, {str(name): wide[name].to_numpy() for name in wide}, "cast")
    elif same_texts(seated):
        yield spread(effect, values(runs), "run")


def statement_means(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the mean over runs of each statement of each agent."""
    return _by_condition(scores, nanmean)


def statement_ranges(scores: pd.DataFrame) -> dict[str, Floats]:
    """By condition: the quartile range over runs of each statement of each agent."""
    return _by_condition(scores, quartile_range)


def _by_condition(scores: pd.DataFrame, of: Callable[[Floats], Floats]) -> dict[str, Floats]:
    parts: dict[str, list[Floats]] = {}
    for line in lines(scores):
        parts.setdefault(line.condition, []).append(of(line.scores))
    return {condition: np.concatenate(arrays) for condition, arrays in parts.items()}
