"""The report of `run.py study choose-side`: how far debaters follow the judge, by what they know of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate, format_number
from parley.analysis.report import Report

from .choices import SideChoiceStudy
from .measures import BEYOND, PERCENT, effects, opposed_line, order_row, shifts, verdict

READING = (
    "Each person first says in private how far it agrees with the claim, and then chooses the side to argue before a judge, "
    "with the sides listed in both orders. Shift is the share of people who argue the judge's side if they know about the "
    "judge, minus the share if they know nothing about the judge, in percentage points. The row `opposed` has judges who "
    "disagree with the person, `aligned` has judges who agree with the person, and `all` has both. Brackets are 95% intervals "
    "over people, and over topics."
)
KNOWLEDGE: Mapping[str, str] = {
    "belief": "the judge agrees with the claim, or does not",
    "persona": "the description of a judge: another person of the study, whose own rating says on which side it is",
    "detail": "in which half of a year the judge was born (the null, whose shift is 0; for or against is drawn at random)",
}
SHIFTS: Mapping[str, Column] = {
    "known of the judge": "known", "judge": "alignment", "people": "people", "missing": "missing",
    "argue the judge's side (%)": estimate("to_judge", 1, PERCENT),
    "without knowledge (%)": lambda row: format_number(PERCENT * row["base"], 1),
    "shift (over people)": estimate("shift", 1, PERCENT),
    "shift (over topics)": lambda row: _over_topics(row),
}  # fmt: skip


def write_side_choice(
    study: SideChoiceStudy, choices: pd.DataFrame, folder: Path, people: pd.DataFrame | None = None
) -> Path:
    """Write choose_side.md, its tables (choices, shifts, effects) and its figure; return the path of the page."""
    moved = shifts(choices)
    table = effects(moved)
    report = Report(folder, "choose_side", "Which side does a debater argue?")
    report.data(choices=choices, shifts=moved, effects=table)
    size = f"{count_phrase(len(study.people), 'persona')} on {count_phrase(len(study.topics), 'topic')}"
    report.add(
        f"{study.llm} chose for {size}. {READING}",
        "\n".join(f"- **{name}**: {about}" for name, about in KNOWLEDGE.items()),
    )
    report.disclaim_models(study.llm)
    lost = choices[choices["share_for"].isna()]
    report.missing(len(lost), len(choices), "choices are missing", count_table(lost["reason"]))
    unrated = choices[choices["stance"].isna()].drop_duplicates(["person", "topic"])
    report.missing(
        len(unrated), len(choices.drop_duplicates(["person", "topic"])), "ratings of the own stance are missing", ""
    )
    report.in_short([verdict(table, moved), opposed_line(table), _order_line(order_row(choices))])
    shown = table[table["known"] != BEYOND]
    if shown["low"].notna().any():
        points = shown.assign(**{name: PERCENT * shown[name] for name in ("shift", "low", "high")})
        title, caption = "Do debaters move to the judge's side?", f"{study.llm}. Intervals over people"
        figure = dot_plot(points, ["known", "alignment"], "shift", "shift (percentage points)", caption, title)
        report.figure(figure, "choose_side", "Shift toward the judge's side, by what is known of the judge")
    report.section("Shifts toward the judge's side")
    report.table(table, SHIFTS)
    if people is not None:
        _add_people(report, people)
    return report.write()


def _over_topics(row: Mapping[str, float]) -> str:
    shift, low, high = (PERCENT * row[name] for name in ("shift", "topics_low", "topics_high"))
    return format_estimate(shift, low, high, 1)


def _order_line(row: Mapping[str, float]) -> str:
    if not row["people"]:
        return "The effect of the order is unknown, because no choice was read in both orders."
    share, low, high = (PERCENT * (0.5 + row[name]) for name in ("first", "low", "high"))
    value = format_estimate(share, low, high, 1)
    return (
        f"The side listed first is chosen in {value}% of choices; without an effect of the order, 50% is expected. Both "
        "orders are asked, so the order cannot cause a shift."
    )


def _add_people(report: Report, people: pd.DataFrame) -> None:
    moved = shifts(people)
    table = effects(moved)
    report.section("People's choices", f"The table shows the choices in your file. {verdict(table, moved)}")
    report.data(people=people, people_effects=table)
    lost = people[people["share_for"].isna()]
    report.missing(len(lost), len(people), "choices of people are missing", "")
    report.table(table, SHIFTS)
