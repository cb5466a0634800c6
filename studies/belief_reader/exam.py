"""How well a judge tags lines whose tags are known, and what its answers are worth as evidence.

The unit is the core of a line: three lines share its words. A judge tells a part apart if the whole interval of its share of
right answers is above the share of the best judge that always says the same; else its answers count as uninformative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import Topic
from parley.analysis.alignment.report import kappa
from parley.analysis.statistics.intervals import Floats, clustered_share_interval

from .tags import APPEAL, DIRECTION, PARTS, REASON, Tag, answers_of

BAR = 0.7
"""The reader speaks of results only if the whole interval of the share of right directions is above this."""
SHRUNK = 0.5
"""So many made-up answers, spread as all answers are, join those to the lines of one true tag."""


class PartExam(NamedTuple):
    """How a judge did on one part.

    lines, read: known lines, and those with a readable answer. groups: cores of the latter. right: share
    of right answers among those read, with its interval.
    constant: the share that the best judge gets who always says the same. kappa: with its interval. counts: (true, said).
    """

    part: str
    answers: tuple[str, ...]
    lines: int
    read: int
    groups: int
    right: float
    low: float
    high: float
    constant: float
    kappa: float
    kappa_low: float
    kappa_high: float
    counts: Floats

    @property
    def informs(self) -> bool:
        """Whether the judge does better than one that always says the same."""
        return self.low > self.constant

    @property
    def row(self) -> dict[str, Any]:
        """Its numbers as a row of a table."""
        numbers = {name: value for name, value in self._asdict().items() if name not in ("answers", "counts")}
        return {
            **numbers,
            "right_low": self.low,
            "right_high": self.high,
            "chance": 1 / len(self.answers),
            "informs": self.informs,
        }


class Likelihood(NamedTuple):
    """P(said | true) of each part: (true answers, said answers and missing). A missing answer tells nothing."""

    direction: Floats
    reason: Floats
    appeal: Floats
    answers: Mapping[str, tuple[str, ...]]

    def places(self, tag: Tag) -> tuple[int, int, int]:
        """Return the columns of what was said; the last column of each part is for missing."""
        direction, reason, appeal = (
            self.answers[part].index(answer) if answer in self.answers[part] else len(self.answers[part])
            for part, answer in zip(PARTS, tag, strict=True)
        )
        return direction, reason, appeal

    def believed(self, part: str) -> Floats:
        """Return P(true | said), (said and missing, true), where all true answers are as likely before."""
        matrix: Floats = getattr(self, part)
        return np.asarray((matrix / matrix.sum(axis=0)).T)


def examine(tagged: pd.DataFrame, topic: Topic) -> dict[str, PartExam]:
    """Return how a judge did on each part. tagged: known lines with `true_direction`, ... and what the judge said."""
    return {part: _examine(tagged, part, answers_of(topic, part)) for part in PARTS}


def _examine(tagged: pd.DataFrame, part: str, answers: tuple[str, ...]) -> PartExam:
    answered = tagged[tagged[part] != ""]
    true, said = answered[f"true_{part}"], answered[part]
    counts = pd.crosstab(true, said).reindex(index=answers, columns=answers, fill_value=0).to_numpy(dtype=float)
    hits = (true == said).groupby(answered["core"]).agg(["sum", "size"]).to_numpy(dtype=float)
    right = float((true == said).mean()) if len(answered) else math.nan
    low, high = clustered_share_interval(hits[:, 0], hits[:, 1]) if len(answered) else (math.nan, math.nan)
    agreed = kappa(pd.DataFrame({"true": true, "said": said}))
    constant = float(tagged[f"true_{part}"].value_counts(normalize=True).max())
    numbers = (right, low, high, constant, agreed.value, agreed.low, agreed.high)
    return PartExam(part, answers, len(tagged), len(answered), len(hits), *numbers, counts)


def likelihood(exams: Mapping[str, PartExam]) -> Likelihood:
    """Return what the answers of a judge are worth, by its exam. A part that the judge does not tell apart is worth nothing."""
    direction, reason, appeal = (_matrix(exams[part]) for part in PARTS)
    return Likelihood(direction, reason, appeal, {part: exam.answers for part, exam in exams.items()})


def _matrix(exam: PartExam) -> Floats:
    counts, size = exam.counts, len(exam.answers)
    spread = (counts.sum(axis=0) + 1 / size) / (counts.sum() + 1)
    rows = (counts + SHRUNK * spread) / (counts.sum(axis=1, keepdims=True) + SHRUNK)
    return np.column_stack([rows if exam.informs else np.tile(spread, (size, 1)), np.ones(size)])


def exact(topic: Topic) -> Likelihood:
    """Return the likelihood of a judge that is always right."""
    answers = {part: answers_of(topic, part) for part in PARTS}
    direction, reason, appeal = (
        np.column_stack([np.eye(len(answers[part])), np.ones(len(answers[part]))])
        for part in (DIRECTION, REASON, APPEAL)
    )
    return Likelihood(direction, reason, appeal, answers)


def passes(exams: Mapping[str, PartExam]) -> bool:
    """Return whether the judge may be used: all of the interval of right directions is above BAR."""
    return exams[DIRECTION].low > BAR


def exam_sentence(exams: Mapping[str, PartExam]) -> str:
    """Return what the exam says of the judge, and whether the reader speaks of results."""
    exam = exams[DIRECTION]
    hits = int(np.trace(exam.counts))
    shown = f"The judge tells directions apart in {hits} of {exam.read} known messages ({_percent(exam)})"
    unread = f"; {exam.lines - exam.read} of {exam.lines} answers could not be read" if exam.read < exam.lines else ""
    if passes(exams):
        return f"{shown}{unread}."
    why = "below the bar of" if exam.high < BAR else "not shown to be above the bar of"
    return f"{shown}{unread}. This share is {why} {BAR:.0%}, so the report gives no result: choose a better judge."


def _percent(exam: PartExam) -> str:
    if exam.read == 0:
        return "no answer could be read"
    ends = "" if math.isnan(exam.low) else f", {100 * exam.low:.0f}% to {100 * exam.high:.0f}%"
    return f"{100 * exam.right:.0f}%{ends}"
