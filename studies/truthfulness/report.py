"""The report of `run.py study truthfulness`: agreement of the crowd, experts, and what each dimension adds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
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
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import ALIKE, FEWEST, NO_VARIATION, too_few
from parley.analysis.unknown import clause, unknown_sentence
from parley.llm.seeding import derive

from .measures import FEWEST_STATEMENTS, TruthfulnessStudy, correlations, cube_of, measure

ROWS: Mapping[str, Column] = {
    "rated": "aspect", "mean (1-7)": number("mean"), "alpha": estimate("alpha"), "alpha of shuffled": number("alpha_null"),
    "experts (rho)": estimate("expert"), "rho of shuffled": number("expert_null"), "beyond overall": estimate("added"),
}  # fmt: skip
READING = (
    "Everyone rated every statement from 1 to 7, with a separate question for each dimension and for truthfulness overall. The "
    "column `alpha` has Krippendorff's alpha of the crowd (1: agreement, 0: chance). The column `experts` has Spearman's rank "
    "correlation of the crowd's mean ratings with the experts' labels. The column `beyond overall` has the share of the crowd's "
    "agreement on a dimension that the crowd's overall ratings do not explain. The column `shuffled` has the limit below which "
    "95% of values lie if each person's ratings are shuffled among statements. Brackets hold 95% intervals over statements (at "
    f"least {FEWEST}, for alpha {FEWEST_STATEMENTS}), not corrected for the number of rows. Statements count as independent. "
    "Statements of one debate or source are alike, and make intervals too narrow: keep one statement of each debate or source."
)


def write_truthfulness(study: TruthfulnessStudy, ratings: pd.DataFrame, folder: Path) -> Path:
    """Write truthfulness.md and its tables (ratings, aspects, correlations); return the path of the page."""
    cube, labels = cube_of(ratings), np.array([statement.label for statement in study.statements], dtype=float)
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
    lines = findings(measured, labels, len(study.people))
    report.in_short(lines)
    if measured["alpha"].notna().any():
        look = "Krippendorff's alpha", disclaimers.spec_label(study.llm), "Agreement of the crowd by dimension"
        report.figure(dot_plot(measured, ["aspect"], "alpha", *look), "truthfulness", "Agreement of the crowd")
    report.section("By dimension")
    report.table(measured, ROWS)
    report.section("Correlations between mean ratings (Spearman's rho)")
    report.table([[str(name), *map(format_number, row)] for name, row in zip(related, related.to_numpy().tolist(), strict=True)],
                 ["", *map(str, related)])  # fmt: skip
    return report.write()


def findings(measured: pd.DataFrame, labels: np.ndarray, people: int) -> list[str]:
    """Return in sentences whether the crowd agrees, whether it agrees with experts, and which dimensions add something.

    people: who rated. One person alone is no crowd.
    """
    overall, dimensions = measured.iloc[0], measured.iloc[1:]
    alone = "one person is no crowd" if people < 2 else ""
    few = too_few("statement") if len(labels) < FEWEST else ""
    few_for_alpha = f"fewer than {FEWEST_STATEMENTS} statements" if len(labels) < FEWEST_STATEMENTS else ""
    labelled = int(np.isfinite(labels).sum())
    reason = f"{labelled} statements with a label, fewer than {FEWEST}" if labelled else "the file has no labels"
    lines = [
        _line("Agreement of the crowd on truthfulness overall (alpha)", overall, "alpha", alone or few_for_alpha),
        _line(
            "Agreement of mean ratings of truthfulness overall with the experts (rho)",
            overall,
            "expert",
            reason if labelled < FEWEST else "",
        ),
    ]
    if labelled >= FEWEST:
        value, low, high = (float(overall[name]) for name in ("expert", "expert_low", "expert_high"))
        figure = "Spearman's rho with the experts"
        lines.append(gate_sentence("mean ratings of this crowd in place of experts", figure, value, low, high, few))
    sure = dimensions[dimensions["added_low"] > 0]
    if not (judged := int(dimensions["added_low"].notna().sum())):
        why = alone or few or "the crowd agrees too little, or nothing varies"
        return [*lines, unknown_sentence("what dimensions add to overall truthfulness", why)]
    named = f" ({', '.join(sure['aspect'])})" if len(sure) else ""
    return [
        *lines,
        f"{len(sure)} of {judged} dimensions with an interval add something to overall truthfulness{named}.",
    ]


def _line(start: str, row: pd.Series, name: str, few: str) -> str:
    """Return what a measure says of the whole. few: why it has no interval, if it has too few units."""
    value, low, high, null = (row[f"{name}{end}"] for end in ("", "_low", "_high", "_null"))
    chance = f"{format_number(null)} for shuffled ratings"
    if name == "expert" and not few and abs(value) > 1 - ALIKE and abs(value) > null:
        order = "the same as" if value > 0 else "the reverse of"
        return f"{start}: {format_number(value)}, so the order is {order} that of the experts; {chance}."
    if np.isnan(low):
        sample = "" if np.isnan(value) else f"; it is {format_number(value)} in these statements"
        return f"{start} is unknown, because {clause(few or NO_VARIATION)}{sample}."
    sentence = f"{start}: {format_estimate(value, low, high)}"
    if np.isnan(null):
        return f"{sentence}. It is unknown whether this value is chance, because shuffled ratings have no value."
    beyond = abs(value) > null and (low > 0 or high < 0)
    verdict = "more than by chance" if beyond and value > 0 else "less than by chance" if beyond else "no sign of it"
    return f"{sentence}; {chance}: {verdict}."
