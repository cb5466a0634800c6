"""The report of `run.py truthfulness`: agreement of the crowd, experts, and what each dimension adds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST
from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    estimate,
    format_estimate,
    format_number,
    number,
)
from parley.analysis.report import Report
from parley.analysis.studies.truthfulness import TruthfulnessStudy, correlations, cube_of, measure
from parley.llm.seeding import derive

ROWS: Mapping[str, Column] = {
    "rated": "aspect", "mean (1-7)": number("mean"), "alpha": estimate("alpha"), "alpha of shuffled": number("alpha_null"),
    "experts (rho)": estimate("expert"), "rho of shuffled": number("expert_null"), "beyond overall": estimate("added"),
}  # fmt: skip
READING = (
    "Everyone rated every statement from 1 to 7, with a separate question for each dimension and for truthfulness overall. "
    "`alpha` is Krippendorff's alpha of the crowd (1: agreement, 0: chance). `experts` is Spearman's rho with labels. "
    "`beyond overall` is the share of what the crowd agrees on in a dimension that is not in its overall ratings (0: nothing). "
    "`shuffled`: each person's ratings are dealt anew among statements; 95% of the values are smaller in size. "
    f"Brackets hold 95% intervals over statements, which are not corrected for the number of rows; below {FEWEST} there are none."
)


def write_truthfulness(study: TruthfulnessStudy, ratings: pd.DataFrame, folder: Path) -> Path:
    """Write truthfulness.md and its tables (ratings, aspects, correlations); return the path of the page."""
    cube, labels = cube_of(ratings), np.array([one.label for one in study.statements], dtype=float)
    measured = measure(cube, labels, np.random.default_rng(derive(study.seed, "shuffled statements")))
    related = correlations(cube)
    report = Report(folder, "truthfulness", "Truthfulness of statements, rated by a crowd")
    report.data(ratings=ratings, aspects=measured, correlations=related.rename_axis("aspect").reset_index())
    report.add(
        f"{study.llm} rated {count_phrase(len(study.statements), 'statement')} for {count_phrase(len(study.people), 'persona')}. "
        f"{READING}"
    )
    report.disclaim_models(study.llm)
    lost = ratings[ratings["rating"].isna()]
    report.missing(len(lost), len(ratings), "ratings are missing", count_table(lost["reason"]))
    report.section("In short", "\n".join(f"- {line}" for line in findings(measured, labels)))
    report.section("By dimension")
    report.table(measured, ROWS)
    report.section("Correlations between mean ratings (Spearman's rho)")
    report.table([[str(name), *map(format_number, row)] for name, row in zip(related, related.to_numpy().tolist(), strict=True)],
                 ["", *map(str, related)])  # fmt: skip
    return report.write()


def findings(measured: pd.DataFrame, labels: np.ndarray) -> list[str]:
    """Return in sentences whether the crowd agrees, whether it agrees with experts, and which dimensions add something."""
    overall, dimensions = measured.iloc[0], measured.iloc[1:]
    lines = [_line("Agreement of the crowd on truthfulness overall (alpha)", overall, "alpha")]
    if np.isfinite(labels).any():
        lines.append(
            _line("Agreement of mean ratings of truthfulness overall with the experts (rho)", overall, "expert")
        )
    else:
        lines.append("Agreement with experts is unknown: the file has no labels.")
    sure = dimensions[dimensions["added_low"] > 0]
    judged = int(dimensions["added_low"].notna().sum())
    if not judged:
        return [*lines, "What dimensions add to overall truthfulness is unknown: no interval."]
    named = f" ({', '.join(sure['aspect'])})" if len(sure) else ""
    return [
        *lines,
        f"{len(sure)} of {judged} dimensions with an interval say something beyond overall truthfulness{named}.",
    ]


def _line(start: str, row: pd.Series, name: str) -> str:
    if np.isnan(row[f"{name}_low"]):
        found = "" if np.isnan(row[name]) else f" It is {format_number(row[name])} in these statements."
        return f"{start} is unknown: too few statements, or no variation, so there is no interval.{found}"
    value = format_estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
    beyond = abs(row[name]) > row[f"{name}_null"] and (row[f"{name}_low"] > 0 or row[f"{name}_high"] < 0)
    verdict = (
        "more than by chance" if beyond and row[name] > 0 else "less than by chance" if beyond else "no sign of it"
    )
    return f"{start}: {value}; {format_number(row[f'{name}_null'])} for shuffled ratings: {verdict}."
