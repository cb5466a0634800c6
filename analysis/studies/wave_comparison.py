"""What changes between waves, how far steering moves answers, and what chance alone gives.

The unit is the question. Two numbers are computed for each comparison. `change` is the mean difference over questions, with
Student's interval. `size` is the mean absolute difference, which sampling alone keeps above 0: `by_chance` is what it gives with
the spreads and the numbers of answers of both sides. p is that of all squared differences together, compared with what the
spreads of the answers make of them: F with degrees of freedom that take unequal spreads and numbers of answers into account
(Box 1954, Annals of Mathematical Statistics 25; Welch's t for one question).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import f as variance_ratio

from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats, too_few, verdict
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.studies.questionnaire import ANSWERS
from parley.analysis.studies.wave import ABOUT, PLAIN
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

CHANCE = 0.05
FEWEST_ANSWERS = 4
"""Answers to a question on each side; with fewer, their spread is hardly known."""


@dataclass(frozen=True)
class Answers:
    """The answers of a wave. cells: by steering and question the known values. opposites: pairs of steerings."""

    label: str
    model: str
    date: str
    table: pd.DataFrame
    texts: Mapping[str, str] = field(default_factory=dict)
    opposites: Sequence[tuple[str, str]] = ()

    @property
    def steerings(self) -> list[str]:
        """The steerings in their order, the unsteered answers first."""
        names = list(dict.fromkeys(self.table["steering"]))
        return [PLAIN, *(name for name in names if name != PLAIN)] if PLAIN in names else names

    def cells(self, steering: str) -> dict[str, Floats]:
        """Return the known values by question."""
        steered = self.table[(self.table["steering"] == steering) & self.table["value"].notna()]
        return {
            str(name): values.to_numpy(dtype=float) for name, values in steered.groupby("question", sort=False)["value"]
        }


def load_waves(paths: Sequence[Path]) -> list[Answers]:
    """Read waves: folders of `questionnaire wave`, or CSV files. Errors: UserError, also where questions differ in wording."""
    waves = [_load_folder(path) if path.is_dir() else _load_file(path) for path in paths]
    texts: dict[str, str] = {}
    for wave in waves:
        for name, text in wave.texts.items():
            if texts.setdefault(name, text) != text:
                raise UserError(
                    f"the wave {wave.label} asks {name} in other words than an earlier wave: compare only waves with "
                    "the same wording"
                )
    labels = [wave.label for wave in waves]
    if twice := next((label for label in labels if labels.count(label) > 1), ""):
        raise UserError(f"two waves are called {twice}: give their folders or files different names")
    shared = set.intersection(*(set(wave.table["question"]) for wave in waves)) if waves else set()
    if not shared:
        raise UserError("the waves have no question in common: compare waves with the same questions")
    return waves


def _load_folder(folder: Path) -> Answers:
    if not (folder / ABOUT).exists() or not (folder / ANSWERS).exists():
        raise UserError(f"{folder} is no finished wave: run run.py study questionnaire wave --out {folder} first")
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    answers = read_table(folder / ANSWERS, ("condition", "question", "value"), "docs/personas.md", numbers=("value",))
    table, texts = answers.rename(columns={"condition": "steering"}).reset_index(drop=True), about["questions"]
    pairs = {
        frozenset(pair): pair
        for condition in reversed(about["conditions"])
        if all(pair := (condition["name"], condition["opposite"]))
    }
    return Answers(folder.name, str(about["llm"]), about["date"], table, texts, list(pairs.values()))


def _load_file(path: Path) -> Answers:
    table = read_table(
        path, ("question", "value"), "docs/personas.md", filled=("question",), ends={"value": (0.0, 10.0)}
    )
    steering = table["steering"].replace("", PLAIN) if "steering" in table.columns else PLAIN
    first = {name: str(table[name].iloc[0]) for name in ("model", "date") if name in table.columns}
    rows = table.assign(steering=steering).reset_index(drop=True)
    return Answers(path.stem, first.get("model", "own file"), first.get("date", ""), rows)


def contrast(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> dict[str, Any]:
    """Compare the answers to the same questions on two sides; return a row.

    questions, change (second minus first) with its interval, size, by_chance, p (NaN: no test), reason.
    """
    shared = [question for question in first if question in second]
    differences = np.array([second[question].mean() - first[question].mean() for question in shared])
    row: dict[str, Any] = {"questions": len(shared), **mean_row(differences, "change"), "size": np.nan}
    row |= {"by_chance": np.nan, "p": np.nan, "reason": ""}
    if not shared:
        return row | {"reason": "no question was answered on both sides"}
    row["size"] = float(np.abs(differences).mean())
    if len(shared) < FEWEST:
        return row | {"reason": too_few("question")}
    if min(min(len(first[question]), len(second[question])) for question in shared) < FEWEST_ANSWERS:
        return row | {"reason": f"a question with fewer than {FEWEST_ANSWERS} answers"}
    row["by_chance"] = float(np.mean([_size_by_chance(first[question], second[question]) for question in shared]))
    return row | {"p": _p([(first[question], second[question]) for question in shared])}


def _size_by_chance(first: Floats, second: Floats) -> float:
    """Return the mean absolute difference of two means of normal answers that are equal but for sampling."""
    return math.sqrt(2 / math.pi * (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)))


def _p(questions: Sequence[tuple[Floats, Floats]]) -> float:
    """Return the p of no difference in the mean answer to any question.

    Of answers that do not vary, any difference is one: p is 0, or 1 without a difference.
    """
    squares = sum(float(second.mean() - first.mean()) ** 2 for first, second in questions)
    sides = np.array([[[side.var(ddof=1) / len(side), len(side) - 1] for side in pair] for pair in questions])
    errors, freedom = sides[..., 0], sides[..., 1]
    variances, total = errors.sum(axis=1), float(errors.sum())
    if total < ALIKE**2:
        return float(squares < ALIKE**2)
    within = total**2 / float((errors**2 / freedom).sum())
    return float(variance_ratio.sf(squares / total, total**2 / float((variances**2).sum()), within))


def changes(waves: Sequence[Answers]) -> pd.DataFrame:
    """Return a row per steering and pair of neighbouring waves: before, after, steering, `contrast`, and what `judged` adds."""
    rows = [
        {"before": before.label, "after": after.label, "steering": name}
        | contrast(before.cells(name), after.cells(name))
        for before, after in pairwise(waves)
        for name in before.steerings
        if name in after.steerings
    ]
    return judged(pd.DataFrame(rows))


def movements(waves: Sequence[Answers]) -> pd.DataFrame:
    """Return a row per wave and steering: wave, steering, `contrast` with the unsteered answers, and what `judged` adds."""
    rows = [
        {"wave": wave.label, "steering": name} | contrast(wave.cells(PLAIN), wave.cells(name))
        for wave in waves
        for name in wave.steerings
        if name != PLAIN
    ]
    return judged(pd.DataFrame(rows))


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Add p_holm (Holm's correction over the table) and verdict: moved, not clear, or unknown."""
    if rows.empty:
        return rows
    p = holm(rows["p"].to_numpy(dtype=float))
    verdict = np.where(np.isnan(p), "unknown", np.where(p < CHANCE, "moved", "not clear"))
    return rows.assign(p_holm=p, verdict=verdict)


def steering_table(waves: Sequence[Answers]) -> pd.DataFrame:
    """Return wave, question, steering, unsteered (its mean), movement (points from it), answers (with the steering)."""
    rows = []
    for wave in waves:
        plain = wave.cells(PLAIN)
        for name in wave.steerings:
            for question, values in wave.cells(name).items():
                if name != PLAIN and question in plain:
                    base = float(plain[question].mean())
                    moved = float(values.mean()) - base
                    rows.append((wave.label, question, name, base, moved, len(values)))
    return pd.DataFrame(rows, columns=["wave", "question", "steering", "unsteered", "movement", "answers"])


def symmetry(waves: Sequence[Answers]) -> pd.DataFrame:
    """Return a row per wave and pair of opposites: how much further the first moves the answers than the second.

    wave, first, second, questions, first_size, second_size (mean movements, each along its own direction), difference with its
    interval over questions, verdict (first, second, not clear, unknown), reason.
    """
    rows: list[dict[str, Any]] = []
    for wave in waves:
        plain = wave.cells(PLAIN)
        for names in wave.opposites:
            sides = [wave.cells(name) for name in names]
            if not all(sides):
                continue
            shared = [question for question in plain if all(question in side for side in sides)]
            row = dict(zip(("wave", "first", "second", "questions"), (wave.label, *names, len(shared)), strict=True))
            row |= {"first_size": np.nan, "second_size": np.nan} | mean_row(np.array([]), "difference")
            if min((len(side[question]) for side in sides for question in shared), default=0) < FEWEST_ANSWERS:
                rows.append(
                    row | {"verdict": "unknown", "reason": f"a question with fewer than {FEWEST_ANSWERS} answers"}
                )
                continue
            moved = np.array(
                [_movements_apart(plain[question], *(side[question] for side in sides)) for question in shared]
            )
            gaps, (first_size, second_size) = moved[:, 0] - moved[:, 1], moved.mean(axis=0)
            row |= {"first_size": float(first_size), "second_size": float(second_size)}
            rows.append(row | mean_row(gaps, "difference") | _side(gaps, *names))
    return pd.DataFrame(rows)


def _movements_apart(plain: Floats, first: Floats, second: Floats) -> tuple[float, float]:
    """Return how far two opposites move the answers to a question, each along its own direction.

    Of two opposites one moves the answers up, the other down. Which of them is read from every other answer and used for the
    rest, and the reverse: so noise in the answers lengthens no movement, as it would lengthen an absolute difference.
    """
    base, signed = float(plain.mean()), []
    for used, read in ((0, 1), (1, 0)):
        up = float(np.sign(round(float(first[read::2].mean() - second[read::2].mean()), 9)))
        signed.append((up * (first[used::2].mean() - base), up * (base - second[used::2].mean())))
    first_moved, second_moved = np.mean(signed, axis=0)
    return float(first_moved), float(second_moved)


def _side(gaps: Floats, first: str, second: str) -> dict[str, str]:
    """Return the verdict on a difference of movements, and why there is none."""
    ends = mean_row(gaps)
    if len(gaps) < FEWEST:
        return {"verdict": "unknown", "reason": too_few("question")}
    if np.isnan(ends["low"]):
        level = abs(ends["estimate"]) < 1e-9
        return {"verdict": "not clear" if level else "unknown", "reason": "" if level else "no variation"}
    return {"verdict": verdict(ends["low"], ends["high"], first, second, "not clear"), "reason": ""}
