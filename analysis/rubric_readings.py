"""`run.py study judge --rubric NAME`: what is read by a rubric: statements, interviews, texts of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.analysis import recollection
from parley.analysis.judging import Judge, Rubric, judge_by_rubric, load_rubric
from parley.analysis.recollection import plan_interviews, score_interviews, write_recall
from parley.analysis.rubric_report import write_rubric
from parley.analysis.tables import Tables
from parley.llm.errors import UserError, unknown_name
from parley.llm.studies import declared_parts

SHIPPED = ("appeal", "sentiment")
"""Rubrics of Parley for statements; studies declare others (`Study.rubrics`)."""


class RubricReading(NamedTuple):
    """What is read by a rubric.

    plan: returns what is asked, in words; errors: UserError for a run (its name) without such texts. judge: returns the verdicts
    on the texts of a run, asked with the seed: among their columns are text, reasons, and `columns` (NaN: missing). write: writes
    the page on verdicts, a run, into a folder, of the judge's spec, and returns its path.
    """

    rubric: Rubric
    plan: Callable[[Tables, Path], str]
    judge: Callable[[Tables, Judge, int], pd.DataFrame]
    columns: Sequence[str]
    write: Callable[[pd.DataFrame, Tables, Path, str], Path]


RECALL = RubricReading(recollection.RUBRIC, plan_interviews, score_interviews, ("recall",), write_recall)


def reading_of(name: str, data: pd.DataFrame | None = None) -> RubricReading:
    """Return what is read by a rubric of Parley, of a study, or of the user's (the path of a .toml file). data: of `read_data`.

    Errors: UserError on an unknown name and a broken file.
    """
    if declared := declared_parts("rubrics").get(name):
        reading: RubricReading = declared.load()
        return reading
    if name == RECALL.rubric.name:
        return RECALL
    if not name.endswith(".toml") and name not in SHIPPED:
        raise unknown_name("rubric", name, [*SHIPPED, RECALL.rubric.name, *declared_parts("rubrics")])
    rubric = load_rubric(name)
    return RubricReading(
        rubric,
        partial(plan_statements, questions=len(rubric.aspects)),
        partial(judge_by_rubric, rubric),
        rubric.columns,
        partial(write_rubric, rubric, data=data),
    )


def plan_statements(tables: Tables, run: Path, questions: int = 0) -> str:
    """Return how many statements a run has. Errors: UserError for a run in which no agent spoke."""
    if not (count := int(tables.utterances["text"].notna().sum())):
        raise UserError(f"{run} has no statement to judge, because no agent spoke in the run: choose another run")
    return f"{count:,} statements{f', {questions} questions on each' if questions else ''}"
