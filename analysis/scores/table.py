"""The table of scores: one row a statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.formatting import count_phrase
from parley.llm.errors import UserError

KEYS = ["topic", "condition", "run", "agent", "statement"]
COLUMNS = [*KEYS, "score"]
LOW, MIDDLE, HIGH = 1, 4, 7
ROUNDING = 1e-9
"""How far off the scale a score may be: sums of thirds come out as 7.000000000000002."""


class ScoreLine(NamedTuple):
    """One agent's scores in a topic and condition: `scores` has a row a run and a column a statement; NaN: none.

    `at` are the statements' numbers, in order.
    """

    topic: str
    condition: str
    agent: str
    scores: Floats
    at: Floats


def read(path: Path) -> pd.DataFrame:
    """A CSV with the columns topic, condition, run, agent, statement, score (1-7; empty: no score could be read).

    Errors: UserError on a file that cannot be read, a column that is missing, a score off the scale, a statement scored twice,
    no score at all.
    """
    try:
        found = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as a CSV of scores: {error}") from error
    if missing := [name for name in COLUMNS if name not in found]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}; wanted: {', '.join(COLUMNS)}")
    return checked(found[COLUMNS], str(path))


def checked(scores: pd.DataFrame, where: str) -> pd.DataFrame:
    """The table with its types. Errors: UserError."""
    for name in ("topic", "condition", "run", "agent"):
        if scores[name].isna().any():
            raise UserError(f"{where}: {count_phrase(int(scores[name].isna().sum()), 'row')} without {name}")
    for name in ("statement", "score"):
        numbers = pd.to_numeric(scores[name], errors="coerce")
        if (numbers.isna() & scores[name].notna()).any() or (name == "statement" and numbers.isna().any()):
            raise UserError(f"{where}: {name} must be a number")
        if name == "statement" and not (numbers % 1 == 0).all():
            raise UserError(f"{where}: statement must be a whole number (1, 2, 3, ...)")
        scores = scores.assign(**{name: numbers})
    known = scores["score"].dropna()
    if known.empty:
        raise UserError(f"{where} holds no score" + (f" (all {len(scores)} are missing)" if len(scores) else ""))
    if not (fits := known.between(LOW - ROUNDING, HIGH + ROUNDING)).all():
        raise UserError(f"{where}: a score must lie between {LOW} and {HIGH}, not {known[~fits].iloc[0]:.10g}")
    scores = scores.assign(score=scores["score"].clip(LOW, HIGH))
    if scores.duplicated(KEYS).any():
        first = scores.loc[scores.duplicated(KEYS), KEYS].iloc[0]
        raise UserError(
            f"{where} scores a statement twice: {', '.join(f'{name} {value}' for name, value in first.items())}"
        )
    return scores.astype({"statement": "int64", "score": "float64"})


def lines(scores: pd.DataFrame) -> Iterator[ScoreLine]:
    """Every topic, condition and agent, in the order of the table."""
    for (topic, condition, agent), rows in scores.groupby(["topic", "condition", "agent"], sort=False):
        wide = rows.pivot(index="run", columns="statement", values="score").sort_index(axis=1)
        yield ScoreLine(
            str(topic), str(condition), str(agent), wide.to_numpy(dtype=float), wide.columns.to_numpy(dtype=float)
        )
