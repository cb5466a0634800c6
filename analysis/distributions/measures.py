"""How near the answers of a model are to those of groups of people: scores, ceilings, nulls, steerability.

The unit of analysis is the question: the groups of a question are averaged first, and intervals are over questions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import POSITIVE, SHARE, SIGNED, Ends, Floats, interval, mean_interval
from parley.analysis.distributions.asking import DistributionStudy, ModelAnswer, StudyAnswers
from parley.analysis.distributions.distances import jensen_shannon, relative_entropy, total_variation, wasserstein
from parley.analysis.distributions.survey_table import SurveyRow
from parley.llm.seeding import derive

NAMED, UNNAMED, OTHER, UNIFORM, SECOND, KNOWN = "named", "unnamed", "other", "uniform", "second", "known"
CONDITIONS: Mapping[str, str] = {
    NAMED: "the model's answers with the group named",
    UNNAMED: "the model's answers without a group",
    OTHER: "the model's answers for the other groups of the same question (null: shuffled groups)",
    UNIFORM: "the same share for every option (null)",
    SECOND: "a second sample of as many people (ceiling)",
    KNOWN: "a model that knows the people's shares, with as many replies as this model gave (ceiling)",
}
TVD, JSD, WD = "tvd", "jsd", "wasserstein"
DISTANCES = (TVD, JSD, WD)
MOST = 100.0
"""The score of equal shares: no interval reaches beyond it."""
DRAWS = 200
"""Simulated samples of each row, for the ceilings."""
ENTROPIES = (("up to 1/3", 0.0, 1 / 3), ("1/3 to 2/3", 1 / 3, 2 / 3), ("above 2/3", 2 / 3, math.inf))
"""Parts of the relative entropy of people's answers: consensus, between, divided."""


def measure(study: DistributionStudy, answers: StudyAnswers) -> pd.DataFrame:
    """Return one row per question and group, with a column DISTANCE_CONDITION for each distance and condition.

    First: question (its number), group, text, options, people, n, model, without_group (shares, as JSON), way (exact, sampled),
    replies, without_replies (of the answer without the group), lost (unreadable replies), reason (why there is no answer),
    entropy (of people, 0 to 1). At the end: `moved` (total variation between the answers with and without the group) and
    `moved_null` (the same when the replies are dealt anew to the two; 0 for exact probabilities). NaN: not known.
    """
    numbers = {question: number for number, question in enumerate(study.table.questions, 1)}
    rng = np.random.default_rng(derive(study.seed, "second samples"))
    places_of: dict[tuple[str, tuple[str, ...]], list[int]] = {question: [] for question in numbers}
    for place, row in enumerate(study.table.rows):
        places_of[row.asked].append(place)
    records: list[dict[str, Any]] = []
    for question, places in places_of.items():
        rows = [study.table.rows[place] for place in places]
        named = [answers.named[place] for place in places]
        measured = _measure_question(rows, named, answers.unnamed[question], rng)
        records += [{"question": numbers[question], **record} for record in measured]
    return pd.DataFrame(records)


def _measure_question(
    rows: Sequence[SurveyRow], named: Sequence[ModelAnswer], unnamed: ModelAnswer, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return a record for each group of a question."""
    model = np.array([_array(answer, rows[0]) for answer in named])
    alone, even = _array(unnamed, rows[0]), np.full(len(rows[0].options), 1 / len(rows[0].options))
    records = []
    for place, (row, answer) in enumerate(zip(rows, named, strict=True)):
        people = np.array(row.shares)
        others = np.delete(model, place, axis=0)
        others = others[np.isfinite(others).all(axis=1)]
        known = {NAMED: model[place], UNNAMED: alone, OTHER: others, UNIFORM: even}
        record: dict[str, Any] = {
            "group": row.group.name, "text": row.question, "options": json.dumps(row.options, ensure_ascii=False),
            "people": _listed(people), "n": row.n, "model": _listed(model[place]), "without_group": _listed(alone),
            "way": answer.way, "replies": answer.replies, "without_replies": unnamed.replies,
            "lost": sum(count for _, count in answer.lost),
            "reason": answer.reason or "", "entropy": float(relative_entropy(people)),
        }  # fmt: skip
        values = np.array(row.values) if row.values else np.full(len(row.options), np.nan)
        for condition, shares in known.items():
            record |= _distances(people, shares, values, condition)
        record |= _ceilings(people, row.n, answer, values, rng)
        record |= {
            "moved": float(total_variation(model[place], alone)),
            "moved_null": _moved_null(answer, unnamed, rng),
        }
        records.append(record)
    return records


def _array(answer: ModelAnswer, row: SurveyRow) -> Floats:
    return np.array(answer.shares) if answer.shares is not None else np.full(len(row.options), np.nan)


def _listed(shares: Floats) -> str:
    return "" if np.isnan(shares).any() else json.dumps([round(share, 6) for share in shares.tolist()])


def _distances(people: Floats, shares: Floats, values: Floats, condition: str) -> dict[str, float]:
    """Return each distance of people from shares; the mean where there are several rows of either."""
    found = {
        TVD: total_variation(people, shares), JSD: jensen_shannon(people, shares), WD: wasserstein(people, shares, values),
    }  # fmt: skip
    return {
        f"{name}_{condition}": float(np.mean(value)) if np.size(value) else math.nan for name, value in found.items()
    }


def _ceilings(
    people: Floats, n: float, answer: ModelAnswer, values: Floats, rng: np.random.Generator
) -> dict[str, float]:
    """Return distances between two samples of n people, and between one and a model that knows their shares."""
    if math.isnan(n):
        return {f"{name}_{condition}": math.nan for condition in (SECOND, KNOWN) for name in DISTANCES}
    first, second = (_samples(people, n, rng) for _ in range(2))
    model = _samples(people, answer.replies, rng) if answer.replies else people
    return _distances(first, second, values, SECOND) | _distances(first, model, values, KNOWN)


def _samples(shares: Floats, n: float, rng: np.random.Generator) -> Floats:
    """Return (DRAWS, k) shares in samples of n people; n is rounded, and at least 1."""
    size = max(round(n), 1)
    return np.asarray(rng.multinomial(size, shares / shares.sum(), DRAWS) / size)


def _moved_null(named: ModelAnswer, unnamed: ModelAnswer, rng: np.random.Generator) -> float:
    """Return how far apart the replies with and without the group's name are when they are dealt anew to the two."""
    if named.shares is None or unnamed.shares is None:
        return math.nan
    if not named.replies or not unnamed.replies:
        return 0.0
    counts = sum(np.rint(np.array(answer.shares) * answer.replies).astype(int) for answer in (named, unnamed))
    one = rng.multivariate_hypergeometric(counts, named.replies, DRAWS)
    return float(total_variation(one / named.replies, (counts - one) / unnamed.replies).mean())


def score_conditions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per condition: questions, rows, score, similarity (1 - JSD) and wasserstein, each with its interval.

    The score is 100 (1 - mean distance / mean distance of even shares), both as total variation over the same questions.
    """
    records = []
    for condition in CONDITIONS:
        known = rows[rows[f"{TVD}_{condition}"].notna()]
        record: dict[str, Any] = {"condition": condition, "questions": known["question"].nunique(), "rows": len(known)}
        record |= _named_ends("score", *score(known, condition))
        similarity, distance = (_by_question(known, f"{name}_{condition}") for name in (JSD, WD))
        record |= _named_ends("similarity", _mean(1 - similarity), mean_interval(1 - similarity, bounds=SHARE))
        record |= _named_ends("wasserstein", _mean(distance), mean_interval(distance, bounds=POSITIVE))
        records.append(record)
    return pd.DataFrame(records)


def score(rows: pd.DataFrame, condition: str) -> tuple[float, Ends]:
    """Return the score of a condition and its interval over questions; NaN without a row, and where people's shares are even."""
    means = rows.groupby("question")[[f"{TVD}_{condition}", f"{TVD}_{UNIFORM}"]].mean().dropna().to_numpy(dtype=float)
    if not len(means):
        return math.nan, (math.nan, math.nan)
    low, high = interval(means, _ratio, None)
    return float(_ratio(means[None])[0]), (low, float(np.minimum(high, MOST)))


def _ratio(means: Floats) -> Floats:
    near, even = means[..., 0].sum(axis=-1), means[..., 1].sum(axis=-1)
    return np.asarray(np.where(even > 0, 100 * (1 - near / np.where(even > 0, even, 1.0)), np.nan))


def _by_question(rows: pd.DataFrame, column: str) -> Floats:
    """Return the mean of a column for each question that has one."""
    return np.asarray(rows.groupby("question")[column].mean().dropna(), dtype=float)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _named_ends(name: str, value: float, ends: Ends) -> dict[str, float]:
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def compare_naming(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what naming the group does, a row each (total variation): questions, value with its interval.

    steerability  how much nearer to the group the answers are with its name than without (0: ignored; below 0: farther)
    own_group     how much nearer the answers for a group are to this group than those for the other groups of the question
    moved         how far naming the group moves the answers, in any direction
    moved_beyond  the same, minus the distance when the replies are dealt anew (null: sampling error)
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
        records.append({"measure": name, "questions": len(means), **_named_ends("value", _mean(means), ends)})
    return pd.DataFrame(records)


def score_parts(rows: pd.DataFrame, parts: Iterable[tuple[str, pd.Series]]) -> pd.DataFrame:
    """Return one row per part: questions, rows, and the scores named, unnamed and second with their intervals.

    Also `similarity` and `similarity_unnamed`: 1 - Jensen-Shannon distance with the group named and without a group.

    parts: the name of a part, and which rows belong to it.
    """
    records = []
    for name, chosen in parts:
        part = rows[chosen]
        record: dict[str, Any] = {"part": name, "questions": part["question"].nunique(), "rows": len(part)}
        for condition in (NAMED, UNNAMED, SECOND):
            record |= _named_ends(condition, *score(part[part[f"{TVD}_{condition}"].notna()], condition))
        for column, condition in (("similarity", NAMED), ("similarity_unnamed", UNNAMED)):
            near = 1 - _by_question(part, f"{JSD}_{condition}")
            record |= _named_ends(column, _mean(near), mean_interval(near, bounds=SHARE))
        records.append(record)
    return pd.DataFrame(records)


def score_entropies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by how divided people are (ENTROPIES), without parts that have no row."""
    entropy = rows["entropy"].clip(lower=1e-12)
    parts = [(name, (entropy > low) & (entropy <= high)) for name, low, high in ENTROPIES]
    return score_parts(rows, [part for part in parts if part[1].any()])


def score_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by group, in the order of the file."""
    return score_parts(rows, [(name, rows["group"] == name) for name in dict.fromkeys(rows["group"])])
