"""Lines of known grade for a judge to read: sentences of our banks, scored examples by hand, and lines of the user.

They show what a judge's score is worth: its calibration (analysis/line_gaps.py), and whether it must not be used
(analysis/judge_quality.py). An example is judged without itself among the examples that the judge is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from parley.agents.probe import scales
from parley.agents.reply_cleaning import one_line
from parley.agents.topic import load_topic
from parley.analysis.judge_quality import on_axis, on_scale, quality_by_topic
from parley.analysis.judging import Item, Judge
from parley.analysis.line_gaps import Calibration, calibrate
from parley.analysis.statement_judge import SCALE, Judging, examples, statement_item
from parley.analysis.table_files import read_table
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.errors import UserError

COLUMNS = ["topic", "source", "text", "grade"]
BANK, EXAMPLE, FILE = "bank", "example", "file"
PER_GRADE = 3
"""Sentences of the banks for each of the six grades of a topic."""


def known_lines(topics: Sequence[str], own: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row per line: COLUMNS, with the grade on the topic's axis (0-10). own: the lines of `read_lines`."""
    rows = [(topic, *row) for topic in topics for row in _lines(topic)]
    shipped = pd.DataFrame(rows, columns=COLUMNS)
    return shipped if own is None else pd.concat([shipped, own], ignore_index=True)


def _lines(topic: str) -> Iterator[tuple[str, str, float]]:
    root = load_topic(topic).root
    if bank := topic_bank(root):
        for grade, forms in bank.by_grade.items():
            places = np.linspace(0, len(forms) - 1, min(PER_GRADE, len(forms))).round().astype(int)
            yield from ((BANK, forms[place][0], float(grade)) for place in places)
    polarity = load_topic(topic).probe("agreement").polarity
    yield from ((EXAMPLE, text, scales()[SCALE].attitude(score, polarity)) for text, score in examples(root))


def read_lines(path: Path, topics: Sequence[str]) -> pd.DataFrame:
    """Return one row per line of the user's table (CSV or .jsonl) with topic, text and grade (0-10 on the topic's axis): COLUMNS.

    Errors: UserError for a file that does not fit.
    """
    needed = ("topic", "text", "grade")
    table = read_table(path, needed, "docs/honesty.md", filled=needed, ends={"grade": (0.0, 10.0)})
    for row, topic in table["topic"].items():
        if topic not in topics:
            raise UserError(f"{path}, row {row}: the topic {topic} is not in this study: use {', '.join(topics)}")
    return table.assign(source=FILE)[COLUMNS].reset_index(drop=True)


def judge_lines(lines: pd.DataFrame, judge: Judge, judging: Judging) -> pd.DataFrame:
    """Return the lines with score (1-7 on the claim; NaN: unread), scored (the score on the axis, 0-10) and reason."""
    items = [_item(row.topic, one_line(str(row.text)), judging) for row in lines.itertuples()]
    verdicts = judge.judge_items(judging.rubric, items, judging.seed, "known lines")
    scores = pd.Series([verdict.value for verdict in verdicts], lines.index, "float64")
    scored = on_axis(scores, lines["topic"])
    return lines.assign(score=scores, scored=scored, reason=[verdict.reason for verdict in verdicts])


def _item(topic: str, text: str, judging: Judging) -> Item:
    """Return the question about a line, without the line itself among the examples."""
    item = statement_item(f"known {text}", load_topic(topic), text, "", "", judging)
    return item._replace(examples=[example for example in item.examples if example[0]["statement"] != text])


def calibrations(judged: pd.DataFrame) -> dict[str, Calibration]:
    """Return the calibration of a judge by topic, from the table of `judge_lines`."""
    return {
        str(topic): calibrate(part["grade"].to_numpy(dtype=float), part["scored"].to_numpy(dtype=float))
        for topic, part in judged.groupby("topic", sort=False)
    }


def grader_quality(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic of how the judge reads lines of known grade: lines, missing, calibration, and r with its reason.

    judged: the table of `judge_lines`.
    """
    known = judged.assign(truth=on_scale(judged["grade"], judged["topic"]), room=judged.index)
    quality = quality_by_topic(known.dropna(subset=["score"]), "truth").set_index("topic")
    rows = []
    for topic, one in calibrations(judged).items():
        scores = judged.loc[judged["topic"] == topic, "score"]
        row = {"topic": topic, "lines": len(scores), "missing": int(scores.isna().sum())}
        rows.append(row | {"intercept": one.intercept, "slope": one.slope, "error": one.error})
    columns = ["statements", "rooms", "r", "r_low", "r_high", "reason", "bias"]
    return pd.DataFrame(rows).join(quality[columns], on="topic")
