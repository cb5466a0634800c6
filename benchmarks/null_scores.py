"""Scores without any effect, for the exam of analysis/scores (exam.py; see null_simulation.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from parley.analysis.scores.contrasts import contrast
from parley.analysis.scores.reversion import echo_chambers
from parley.analysis.scores.table import COLUMNS, PEOPLE
from parley.analysis.scores.ucl import compare
from parley.analysis.statistics.intervals import Floats

RUNS, STATEMENTS, BETWEEN, TEXTS, NOISE = 10, 6, 0.5, 0.3, 0.3
"""Runs a condition; statements; SDs in points: between people, between two texts of a person, of single statements."""


def _table(cells: dict[tuple[str, str], Floats]) -> pd.DataFrame:
    """(condition, agent) -> (runs, statements) as a table of scores of one topic."""
    rows = [
        ("null", condition, f"{condition} {run}", agent, statement, score)
        for (condition, agent), runs in cells.items()
        for run, line in enumerate(runs)
        for statement, score in enumerate(line, 1)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _crossing(rng: np.random.Generator) -> float:
    """0 where agents that drift across the middle, from 2.5 to 6, are said to have formed an echo chamber."""
    drift = np.linspace(2.5, 6, STATEMENTS)
    cells = {
        ("null", agent): drift + rng.normal(0, BETWEEN, (RUNS, 1)) + rng.normal(0, 1, (RUNS, STATEMENTS))
        for agent in "ab"
    }
    return float(not echo_chambers(_table(cells), {"a": "same", "b": "same"})["formed"].iloc[0])


def _gender(rng: np.random.Generator) -> float:
    """The p of women less men, where a text says nothing but that people, and texts of one person, differ."""
    people = rng.normal(4, BETWEEN, RUNS)
    cells: dict[tuple[str, str], Floats] = {}
    rows = []
    for condition in ("men", "women"):
        texts = people + rng.normal(0, TEXTS, RUNS)
        cells[condition, "a"] = texts[:, None] + rng.normal(0, NOISE, (RUNS, STATEMENTS))
        rows += [(condition, f"{condition} {run}", "a", "same", f"{run}", f"{condition} {run}") for run in range(RUNS)]
    result = contrast(_table(cells), pd.DataFrame(rows, columns=PEOPLE), "men", "women")
    return result.p


def _missing(rng: np.random.Generator) -> float:
    """The p between two conditions that are alike, but that one of three agents is unread in most runs of the second."""
    cells = {
        (condition, agent): level + rng.normal(0, NOISE, (RUNS, STATEMENTS))
        for condition in "AB"
        for agent, level in (("a", 2.0), ("b", 4.0), ("c", 6.0))
    }
    cells["B", "a"][rng.permutation(RUNS)[:7]] = np.nan
    return float(compare(_table(cells), False)["p"].iloc[0])


SCORES: dict[str, Callable[[np.random.Generator], float]] = {
    "echo chamber, across the middle": _crossing,
    "women - men, ten people": _gender,
    "a party missing in one condition": _missing,
}
"""Each draws a data set and returns its p."""
