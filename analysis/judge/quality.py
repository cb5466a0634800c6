"""How good is a judge? Beside the known-truth speaker's own grades, and beside what agents say of themselves.

A grade is known for every statement made of sentences of the oracle's banks: all of the oracle's, most of the model in the box's,
none of other models'. Where none is known the judge is unchecked, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from agents.topic import load_topic, scales
from analysis.bootstrap import Floats, correlation, interval, mean_interval
from analysis.judge.verdicts import SCALE
from llm.backends.oracle.banks import topics

FEWEST = 10
"""Statements below which no correlation is told."""


def against_truth(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a topic: statements (with score and grade), rank correlation, bias (score minus truth, points of 1-7), error (mean
    absolute), each of the first two with its 95% interval over rooms.
    """
    known = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    return _by_topic(known, "truth")


def against_themselves(verdicts: pd.DataFrame, attitudes: pd.DataFrame) -> pd.DataFrame:
    """The same, beside the hidden self-report of the same agent after the same round, on the judge's scale."""
    own = attitudes[["room", "agent", "round", "attitude"]]
    both = verdicts.merge(own, on=["room", "agent", "round"], how="inner")
    both["own"] = _on_scale(both["attitude"], both["topic"])
    return _by_topic(both.dropna(subset=["score", "own"]), "own")


def truth(verdicts: pd.DataFrame) -> pd.Series:
    """The grade of each statement, on the judge's scale; NaN where none of its sentences is known."""
    banks = {slug: topics().get(load_topic(str(slug)).root) for slug in verdicts["topic"].unique()}
    grades = [
        bank.grade(str(text)) if (bank := banks[slug]) else None
        for slug, text in zip(verdicts["topic"], verdicts["text"], strict=True)
    ]
    return _on_scale(pd.Series(grades, index=verdicts.index, dtype=float), verdicts["topic"])


def confusion(verdicts: pd.DataFrame) -> pd.DataFrame:
    """How many statements of each true score (rows, 1-7, rounded) got which score (columns, 1-7, rounded)."""
    scale = scales()[SCALE]
    known = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    rounded = [known[name].round().astype("int64").rename(name) for name in ("truth", "score")]
    found = pd.crosstab(*rounded) if len(known) else pd.DataFrame(dtype="int64")
    points = pd.Index(scale.points)
    return found.reindex(index=points.rename("truth"), columns=points.rename("score"), fill_value=0)


def on_axis(scores: pd.Series, topics_: pd.Series) -> pd.Series:
    """Scores of 1-7 on the claim as 0-10 on the axis of their topics."""
    return _turned(scales()[SCALE].attitude, scores, topics_)


def _on_scale(attitudes: pd.Series, topics_: pd.Series) -> pd.Series:
    """0-10 on the axis of their topics as 1-7 on the claim."""
    return _turned(scales()[SCALE].rating, attitudes, topics_)


def _turned(way: Callable[[float, int], float], values: pd.Series, topics_: pd.Series) -> pd.Series:
    """Each value the one way or the other between scale and axis, by the polarity of its topic's claim."""
    sides = [load_topic(str(slug)).probe("agreement").polarity for slug in topics_]
    turned = [way(value, side) for value, side in zip(values.astype(float), sides, strict=True)]
    return pd.Series(turned, index=values.index, dtype=float)


def _by_topic(known: pd.DataFrame, other: str) -> pd.DataFrame:
    rows = [_row(str(topic), part, other) for topic, part in known.groupby("topic", sort=False)]
    columns = ["topic", "statements", "rooms", *_spanned("r"), *_spanned("bias"), "error"]
    return pd.DataFrame(rows, columns=columns)


def _row(topic: str, part: pd.DataFrame, other: str) -> dict[str, Any]:
    gaps = part["score"] - part[other]
    row: dict[str, Any] = {"topic": topic, "statements": len(part), "rooms": part["room"].nunique()}
    row |= {"bias": float(gaps.mean()), "error": float(gaps.abs().mean())}
    row |= dict(
        zip(
            ("bias_low", "bias_high"),
            mean_interval(gaps.groupby(part["room"]).mean().to_numpy(), "bias", topic),
            strict=True,
        )
    )
    if len(part) >= FEWEST and part["score"].nunique() > 1 and part[other].nunique() > 1:
        sums = _sums(part, other)
        ends = interval(sums, lambda drawn: correlation(drawn.sum(axis=1)), "judge", topic)
        row |= dict(zip(_spanned("r"), (float(correlation(sums.sum(axis=0))), *ends), strict=True))
    return row


def _sums(part: pd.DataFrame, other: str) -> Floats:
    """(rooms, 6): what a correlation of ranks (over all statements) is made of, room by room."""
    x, y = rankdata(part["score"]), rankdata(part[other])
    terms = pd.DataFrame(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
    sums: Floats = terms.groupby(part["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    return sums


def _spanned(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]
