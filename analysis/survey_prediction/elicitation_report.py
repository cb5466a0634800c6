"""The report of `run.py elicit`: the error of the rest of a person's answers, by order of asking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.bootstrap import ALIKE, FEWEST
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, estimate
from parley.analysis.report import Report
from parley.analysis.survey_prediction.asking import Interviewer
from parley.analysis.survey_prediction.elicitation import (
    ADAPTIVE,
    FIXED,
    ORDERS,
    RANDOM,
    ElicitationStudy,
    error_table,
    overall_difference,
)

_difference = estimate("difference", 3)
COLUMNS: Mapping[str, Column] = {
    "order": "order", "questions asked": "asked", "people": "people", "error": estimate("error", 3),
    "minus random": lambda row: "" if row["order"] == RANDOM or not row["asked"] else _difference(row),
}  # fmt: skip
READING = (
    "The error is the mean squared error of the predicted answers that are not asked (0.25 for always 0.5). Brackets hold 95% "
    f"intervals over people, none below {FEWEST}; differences are within people. The table is not corrected for the number of "
    "comparisons; the sentences above are about the average over all numbers of questions."
)


def write_elicitation(study: ElicitationStudy, rows: pd.DataFrame, interviewer: Interviewer, folder: Path) -> Path:
    """Write elicitation.md, its tables and the figure; return the page's path."""
    table, people = error_table(rows), rows["person"].nunique()
    report = Report(folder, "elicitation", "Which question to ask next")
    report.data(walks=rows, errors=table)
    report.add(
        f"{study.llm} predicted the rest of the answers of {people} of {len(study.survey.people)} people ({study.survey.name}) "
        f"after 0 to {study.steps} questions{_left_out(len(study.survey.people) - people)}.",
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in ORDERS.items()),
    )
    report.plain(study.survey.absent_line)
    report.disclaim_models(study.llm)
    reasons = interviewer.reasons()
    listed = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
    report.missing(sum(reasons.values()), len(interviewer.answered), "different questions have no prediction", listed)
    report.section("In short")
    report.lines(f"- {line}" for line in sentences(rows))
    report.figure(_figure(table, study), "elicitation", "Error of the rest by number of questions asked and order")
    report.section("Errors", READING)
    report.table(table, COLUMNS)
    report.add("`walks.csv` has every question that was chosen, with its expected information gain in nats.")
    return report.write()


def sentences(rows: pd.DataFrame) -> list[str]:
    """Return a sentence each on adaptive against random and against fixed order; no verdict without an interval."""
    lines = []
    for other in (RANDOM, FIXED):
        found = overall_difference(rows, ADAPTIVE, other)
        start = f"The error with adaptive questions, compared with the {other} order"
        if not np.isfinite(found["low"]):
            lines.append(_no_interval(start, found))
            continue
        span = f"{found['difference']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f}), {found['people']} people"
        way = "smaller" if found["high"] < 0 else "larger" if found["low"] > 0 else "not clearly smaller or larger"
        lines.append(f"{start}, is {way}: {span}.")
    return lines


def _left_out(people: int) -> str:
    return f"; {people} answered too few questions" if people else ""


def _no_interval(start: str, found: Mapping[str, float]) -> str:
    if found["people"] < FEWEST:
        return f"{start}, is unknown: fewer than {FEWEST} people have predictions in both orders."
    if abs(found["difference"]) < ALIKE:
        return f"{start}, is the same for all {found['people']} people: the order of asking makes no difference."
    return f"{start}, is unknown: the difference does not vary between people."


def _figure(table: pd.DataFrame, study: ElicitationStudy) -> Figure:
    caption = f"{disclaimers.spec_label(study.llm)}; {study.survey.name}"
    note = f"Points are means over people, bars are 95% intervals over people. {caption}"
    with new_figure(4.6, 3.4, note, title="Error of the answers not asked") as figure:
        axis = figure.subplots()
        for place, (order, look) in enumerate(zip(ORDERS, OTHERS, strict=False)):
            points = table[table["order"] == order]
            plot_line(axis, points.assign(asked=points["asked"] + 0.04 * (place - 1)), "asked", "error", order, look)
        axis.set(xlabel="Questions asked", ylabel="Mean squared error")
        axis.set_ylim(bottom=0)
        add_legend(figure, [axis], 3)
    return figure
