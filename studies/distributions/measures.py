"""Scores of a model's answers by condition, group and how divided people are, and what naming the group changes.

The unit of analysis is the question: the groups of a question are averaged first, and intervals are over questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.polls.distances import CONDITIONS, JSD, NAMED, OTHER, SECOND, TVD, UNNAMED, WD, score
from parley.analysis.statistics.intervals import POSITIVE, SHARE, SIGNED, Floats, mean_interval, with_interval

ENTROPIES = (("up to 1/3", 0.0, 1 / 3), ("1/3 to 2/3", 1 / 3, 2 / 3), ("above 2/3", 2 / 3, math.inf))
"""Parts of the relative entropy of people's answers: consensus, between, divided."""


def score_conditions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per condition: questions, rows, score, similarity (1 - JSD) and wasserstein, each with its interval.

    The score is 100 (1 - mean distance / mean distance of even shares), both as total variation over the same questions.
    """
    records = []
    for condition in CONDITIONS:
        answered = rows[rows[f"{TVD}_{condition}"].notna()]
        record: dict[str, Any] = {
            "condition": condition,
            "questions": answered["question"].nunique(),
            "rows": len(answered),
        }
        record |= with_interval("score", *score(answered, condition))
        similarity, distance = (_by_question(answered, f"{name}_{condition}") for name in (JSD, WD))
        record |= with_interval("similarity", _mean(1 - similarity), mean_interval(1 - similarity, bounds=SHARE))
        record |= with_interval("wasserstein", _mean(distance), mean_interval(distance, bounds=POSITIVE))
        records.append(record)
    return pd.DataFrame(records)


def _by_question(rows: pd.DataFrame, column: str) -> Floats:
    """Return the mean of a column for each question that has one."""
    return np.asarray(rows.groupby("question")[column].mean().dropna(), dtype=float)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def compare_naming(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what naming the group does, a row each (total variation): questions, value with its interval.

    steerability  how much nearer to the group the answers are with its name than without (0: ignored; below 0: farther)
    own_group     how much nearer the answers for a group are to this group than those for the other groups of the question
    moved         how far naming the group moves the answers, in any direction
    moved_beyond  the same, minus the distance when the replies are shuffled (null: sampling error)
    """
    differences = {
        "steerability": rows[f"{TVD}_{UNNAMED}"] - rows[f"{TVD}_{NAMED}"],
        "own_group": rows[f"{TVD}_{OTHER}"] - rows[f"{TVD}_{NAMED}"],
        "moved": rows["moved"],
        "moved_beyond": rows["moved"] - rows["moved_null"],
    }
    records = []
    for name, values in differences.items():
        means = _by_question(rows.assign(difference=values), "difference")
        means = np.where(np.abs(means) < 1e-12, 0.0, means)
        ends = mean_interval(means, bounds=SHARE if name == "moved" else SIGNED)
        records.append({"measure": name, "questions": len(means), **with_interval("value", _mean(means), ends)})
    return pd.DataFrame(records)


def score_parts(rows: pd.DataFrame, parts: Iterable[tuple[str, pd.Series]]) -> pd.DataFrame:
    """Return one row per part: questions, rows, and the scores named, unnamed and second with their intervals.

    Also `similarity` and `similarity_unnamed`: 1 - Jensen-Shannon distance with the group named and without a group.

    parts: the name of a part, and which rows belong to it.
    """
    records = []
    for name, chosen in parts:
        part_rows = rows[chosen]
        record: dict[str, Any] = {"part": name, "questions": part_rows["question"].nunique(), "rows": len(part_rows)}
        for condition in (NAMED, UNNAMED, SECOND):
            record |= with_interval(condition, *score(part_rows[part_rows[f"{TVD}_{condition}"].notna()], condition))
        for column, condition in (("similarity", NAMED), ("similarity_unnamed", UNNAMED)):
            near = 1 - _by_question(part_rows, f"{JSD}_{condition}")
            record |= with_interval(column, _mean(near), mean_interval(near, bounds=SHARE))
        records.append(record)
    return pd.DataFrame(records)


def score_entropies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by how divided people are (ENTROPIES), without parts that have no row."""
    entropy = rows["entropy"].clip(lower=1e-12)
    parts = [(name, (entropy > low) & (entropy <= high)) for name, low, high in ENTROPIES]
    return score_parts(rows, [named_part for named_part in parts if named_part[1].any()])


def score_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by group, in the order of the file."""
    return score_parts(rows, [(name, rows["group"] == name) for name in dict.fromkeys(rows["group"])])
