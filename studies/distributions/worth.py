"""How many people a model is worth, by confidence sets around the model's shares.

Take the shares of a model as if k people had given them. The set around them is the one of Pearson's chi-squared test for two
samples, of k people and of the n people who were asked; it narrows as k grows. For each question `largest_size` is the largest
k whose set holds the people's shares. The worth is the largest k that misses at most 1 - SET_LEVEL of the questions, counting
one question more as missed, so that the set of a new question holds its people at least as often (conformal risk control).
Shares of a random sample of k people are worth k; any error of the model makes them worth fewer. Replies of a model are samples
too: their error is taken out, so the worth is that of the model's shares.

Sources: Huang, Wu and Wang 2025 (arXiv 2502.17773), known by its abstract: the idea of choosing k by coverage. Angelopoulos and
others 2022, Conformal risk control: the extra question. The chi-squared set and the interval are ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import chi2

from parley.analysis.polls.distances import CONDITIONS, NAMED, OTHER, UNIFORM, UNNAMED
from parley.analysis.statistics.intervals import LEVEL, SHARE, Ends, Floats, mean_interval

SET_LEVEL = 0.8
"""How often the set of a question is to hold the people's shares."""
FEWEST_QUESTIONS = 20
"""Below this number of questions the worth is unknown."""
SMALLEST, LARGEST = 1e-3, 1e9
FOLDS, ROUNDING = 20, 1e-9
FEW = f"fewer than {FEWEST_QUESTIONS} questions"
NO_SIZE = "the file does not say how many people were asked (n)"
NO_ANSWER = "no question has an answer"
WORTH_CONDITIONS: Mapping[str, str] = {
    NAMED: CONDITIONS[NAMED],
    UNNAMED: CONDITIONS[UNNAMED],
    OTHER: "the model's answers for another group of the same question (null: shuffled groups)",
    UNIFORM: CONDITIONS[UNIFORM],
}


def largest_size(people: Floats, n: float, model: Floats, replies: float = math.inf) -> float:
    """Return the largest number of people whose set around the model's shares holds the people's; infinite if every set does.

    people: shares of n people. model: shares, exact, or of so many replies.

    >>> round(largest_size(np.array([0.5, 0.5]), math.inf, np.array([0.6, 0.4])), 1)
    41.1
    """
    shown = (people + model) > 0
    people_shares, other = people[shown], model[shown]
    most = float(chi2.ppf(SET_LEVEL, max(int(shown.sum()) - 1, 1)))

    def excess(log_size: float) -> float:
        scale = other / n + people_shares * math.exp(-log_size)
        return float((np.square(people_shares - other) / np.maximum(scale, 1e-300)).sum()) - most

    if excess(math.log(LARGEST)) <= 0:
        return math.inf
    if excess(math.log(SMALLEST)) >= 0:
        return SMALLEST
    size = math.exp(brentq(excess, math.log(SMALLEST), math.log(LARGEST)))
    return 1 / (1 / size - 1 / replies) if size < replies else math.inf


def worth_of(sizes: Sequence[Floats]) -> tuple[float, float, float]:
    """Return the worth and its 95% interval from the largest sizes of each question's groups; NaN below FEWEST_QUESTIONS.

    The interval holds every k whose share of missed questions may be 1 - SET_LEVEL (Clopper and Pearson, the question as unit).
    Infinite: more people than the people who were asked can show.
    """
    if len(sizes) < FEWEST_QUESTIONS:
        return math.nan, math.nan, math.nan
    steps, missed = _misses(sizes)
    after = np.append(missed[1:], float(len(sizes)))
    above = _share_ends(after, len(sizes))[0] > 1 - SET_LEVEL
    below = _share_ends(missed, len(sizes))[1] < 1 - SET_LEVEL
    return choose_size(sizes), float(np.max(steps, where=below, initial=0.0)), float(np.min(steps[above]))


def choose_size(sizes: Sequence[Floats]) -> float:
    """Return the largest k that misses at most 1 - SET_LEVEL of the questions and one more; 0 if there is none."""
    steps, missed = _misses(sizes)
    few = missed + 1 <= (1 - SET_LEVEL) * (len(sizes) + 1) + ROUNDING
    return float(np.max(steps, where=few, initial=0.0))


def _misses(sizes: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return every size, and how many questions its sets miss; a question counts by the share of its groups that are missed."""
    every = np.concatenate(sizes)
    weights = np.concatenate([np.full(len(set_sizes), 1 / len(set_sizes)) for set_sizes in sizes])
    order = np.argsort(every)
    steps, first = np.unique(every[order], return_index=True)
    return steps, np.concatenate([[0.0], np.cumsum(weights[order])])[first]


def _share_ends(hits: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the exact 95% ends of shares, also for hits that are not whole numbers."""
    tail = (1 - LEVEL) / 2
    inner_low, inner_high = np.maximum(hits, 1e-12), np.maximum(count - hits, 1e-12)
    low = np.where(hits > 0, betaincinv(inner_low, count - hits + 1, tail), 0.0)
    return low, np.where(hits < count, betaincinv(hits + 1, inner_high, 1 - tail), 1.0)


def held_out_coverage(sizes: Sequence[Floats]) -> tuple[float, Ends]:
    """Return the share of questions whose sets hold their people if k is chosen from the other questions, and its interval.

    The other questions: all but every FOLDS-th.
    """
    if len(sizes) < FEWEST_QUESTIONS:
        return math.nan, (math.nan, math.nan)
    covered = np.zeros(len(sizes))
    for fold in range(FOLDS):
        k = choose_size([set_sizes for place, set_sizes in enumerate(sizes) if place % FOLDS != fold])
        for place in range(fold, len(sizes), FOLDS):
            covered[place] = float((sizes[place] >= k).mean())
    return float(covered.mean()), mean_interval(covered, bounds=SHARE)


def question_sizes(rows: pd.DataFrame, condition: str) -> list[Floats]:
    """Return the largest sizes of each question's groups, from the rows of `measure` with n and an answer."""
    sizes: list[Floats] = []
    for _, question_rows in rows[rows["n"].notna()].groupby("question", sort=False):
        models = [json.loads(text) if text else None for text in question_rows["model"]]
        counts = [float(count) or math.inf for count in question_rows["replies"]]
        group_sizes: list[float] = []
        for place, row in enumerate(question_rows.itertuples()):
            people = np.array(json.loads(str(row.people)))
            for shares, replies in _shares(row, models, counts, place, condition, len(people)):
                group_sizes.append(largest_size(people, float(str(row.n)), np.array(shares), replies))
        if group_sizes:
            sizes.append(np.array(group_sizes))
    return sizes


def _shares(
    row: Any, models: list[Any], counts: list[float], place: int, condition: str, options: int
) -> list[tuple[Any, float]]:
    """Return the shares that a condition compares with the people of a row, and how many replies they are of.

    OTHER: those of the next group. counts: replies of each group's answer, infinite for exact probabilities.
    """
    if condition == UNIFORM:
        return [([1 / options] * options, math.inf)]
    if condition == UNNAMED:
        return [(json.loads(row.without_group), float(row.without_replies) or math.inf)] if row.without_group else []
    at = place if condition == NAMED else (place + 1) % len(models)
    alone = condition == OTHER and len(models) < 2
    return [] if alone or models[at] is None else [(models[at], counts[at])]


def measure_worth(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per condition: questions, worth, worth_low, worth_high, held_out, held_out_low, held_out_high, reason."""
    records = []
    for condition in WORTH_CONDITIONS:
        sizes = question_sizes(rows, condition)
        worth, low, high = worth_of(sizes)
        share, ends = held_out_coverage(sizes)
        reason = NO_SIZE if rows["n"].isna().all() else NO_ANSWER if not sizes else FEW if math.isnan(worth) else ""
        records.append({
            "condition": condition, "questions": len(sizes), "worth": worth, "worth_low": low, "worth_high": high,
            "held_out": share, "held_out_low": ends[0], "held_out_high": ends[1], "reason": reason,
        })  # fmt: skip
    return pd.DataFrame(records)


def show_worth(row: Any) -> str:
    """Return a worth with its interval as text, such as `24 (12 to 61)`; the reason if it is unknown."""
    if row["reason"]:
        return f"unknown: {row['reason']}"
    return f"{_size(row['worth'])} ({_size(row['worth_low'])} to {_size(row['worth_high'])})"


def _size(size: float) -> str:
    if math.isinf(size):
        return "no limit"
    return f"{size:,.1f}" if size < 10 else f"{size:,.0f}"
