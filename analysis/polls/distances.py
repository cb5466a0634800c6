"""How near the answers of a model are to those of groups of people: distances, the score, its ceilings and nulls.

The unit of analysis is the question: the groups of a question are averaged first, and intervals are over questions. Arrays of
shares hold options along the last axis, and other axes broadcast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr, rel_entr

from parley.analysis.polls.asking import ModelAnswer, Poll, StudyAnswers
from parley.analysis.polls.table import SurveyRow
from parley.analysis.statistics.intervals import Ends, Floats, interval
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


def measure(study: Poll, answers: StudyAnswers) -> pd.DataFrame:
    """Return one row per question and group, with a column DISTANCE_CONDITION for each distance and condition.

    First: question (its number), group, text, options, people, n, model, without_group (shares, as JSON), way (exact, sampled),
    replies, without_replies (of the answer without the group), lost (unreadable replies), reason (why there is no answer),
    entropy (of people, 0 to 1). At the end: `moved` (total variation between the answers with and without the group) and
    `moved_null` (the same when the replies are shuffled among the two; 0 for exact probabilities). NaN: not known.
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
        shares_by_condition = {NAMED: model[place], UNNAMED: alone, OTHER: others, UNIFORM: even}
        record: dict[str, Any] = {
            "group": row.group.name, "text": row.question, "options": json.dumps(row.options, ensure_ascii=False),
            "people": _listed(people), "n": row.n, "model": _listed(model[place]), "without_group": _listed(alone),
            "way": answer.way, "replies": answer.replies, "without_replies": unnamed.replies,
            "lost": sum(count for _, count in answer.lost),
            "reason": answer.reason or "", "entropy": float(relative_entropy(people)),
        }  # fmt: skip
        values = np.array(row.values) if row.values else np.full(len(row.options), np.nan)
        for condition, shares in shares_by_condition.items():
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
    distances = {
        TVD: total_variation(people, shares), JSD: jensen_shannon(people, shares), WD: wasserstein(people, shares, values),
    }  # fmt: skip
    return {
        f"{name}_{condition}": float(np.mean(value)) if np.size(value) else math.nan
        for name, value in distances.items()
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
    """Return how far apart the replies with and without the group's name are when they are shuffled among the two."""
    if named.shares is None or unnamed.shares is None:
        return math.nan
    if not named.replies or not unnamed.replies:
        return 0.0
    counts = sum(np.rint(np.array(answer.shares) * answer.replies).astype(int) for answer in (named, unnamed))
    named_counts = rng.multivariate_hypergeometric(counts, named.replies, DRAWS)
    return float(total_variation(named_counts / named.replies, (counts - named_counts) / unnamed.replies).mean())


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


def total_variation(p: Floats, q: Floats) -> Floats:
    """Return half of the summed differences, from 0 (the same) to 1 (nothing in common).

    >>> float(total_variation(np.array([0.5, 0.5]), np.array([0.8, 0.2])).round(3))
    0.3
    """
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon distance (the root of the divergence, base 2), from 0 to 1. Source: Endres and Schindelin 2003.

    >>> float(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    1.0
    """
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * np.log(2))
    return np.asarray(np.sqrt(np.clip(divergence, 0.0, 1.0)))


def wasserstein(p: Floats, q: Floats, values: Floats) -> Floats:
    """Return how far answers have to be moved along their scale, as a share of its length (0 to 1).

    values: (k,) the place of each option; NaN for an option that is on no scale ("don't know"), which is left out. NaN where
    fewer than two places differ, and where all answers are left out.

    >>> float(wasserstein(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([1.0, 2, 3])))
    0.5
    """
    placed = np.flatnonzero(np.isfinite(values))
    order = placed[np.argsort(values[placed], kind="stable")]
    at = values[order]
    if len(at) < 2 or at[-1] == at[0]:
        return np.full(np.broadcast_shapes(p.shape, q.shape)[:-1], np.nan)
    apart = np.cumsum(_scaled(p[..., order]) - _scaled(q[..., order]), axis=-1)[..., :-1]
    return np.asarray((np.abs(apart) * np.diff(at)).sum(axis=-1) / (at[-1] - at[0]))


def _scaled(shares: Floats) -> Floats:
    total = shares.sum(axis=-1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.nan)


def relative_entropy(p: Floats) -> Floats:
    """Return the entropy as a share of that of even shares: 0 (all give one answer) to 1 (all options have the same share).

    >>> relative_entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.0, 1.0]
    """
    return np.asarray(entr(p).sum(axis=-1) / np.log(p.shape[-1]))
