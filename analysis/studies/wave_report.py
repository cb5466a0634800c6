"""The report that compares waves: changes between waves, the steering table, and whether opposite identities move as far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.figures import OTHERS, add_legend, draw_null, new_figure
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_number, number
from parley.analysis.report import Report
from parley.analysis.studies.wave import PLAIN
from parley.analysis.studies.wave_comparison import Answers, changes, movements, steering_table, symmetry
from parley.analysis.unknown import clause

UNIT = (
    "Values are attitudes from 0 to 10, on the axis of each topic. Brackets are 95% intervals over questions "
    "(Student's). *Size* is the mean absolute difference per question. Sampling alone keeps the size above 0: *by "
    "chance* is the size expected if nothing changed. The p-value is for all questions together, by an F test that "
    "allows unequal spreads and numbers of answers (Holm's correction over the table)."
)
NOTHING = (
    "One wave without steering sentences cannot be compared. Ask the same questions on another day, or another model, "
    "and compare the two waves with run.py compare."
)
SYMMETRY = (
    "The table shows how far each of two opposite identities moves the answers from the unsteered answers, along the "
    "identity's own direction (mean per question), and the difference. If both identities move the model as far, the "
    "difference is 0. A number below 0 means that answers moved in the opposite direction."
)


def write_waves(waves: Sequence[Answers], folder: Path) -> Path:
    """Write waves.md, its tables (changes, steering, movements, symmetry) and figures; return the path of the page."""
    changed, moved, table, sides = changes(waves), movements(waves), steering_table(waves), symmetry(waves)
    report = Report(folder, "waves", f"{count_phrase(len(waves), 'wave')} of a questionnaire")
    report.data(changes=changed, movements=moved, steering=table, symmetry=sides)
    report.disclaim_models(*(wave.model for wave in waves if wave.model != "own file"))
    report.table(
        [_cells(wave) for wave in waves], ["wave", "model", "date", "questions", "answers", "missing", "reasons"]
    )
    lines = list(sentences(changed, moved, sides)) or [NOTHING]
    report.in_short(lines)
    report.section("What changed between waves", UNIT if len(waves) > 1 else "A single wave cannot be compared.")
    if not changed.empty:
        report.table(changed, CHANGES)
    report.section("How far steering moves the answers", UNIT if moved.empty or len(waves) == 1 else None)
    if moved.empty or table.empty:
        report.add("No wave has answers both with and without a steering sentence.")
    else:
        report.figure(_figure(table), "movements", "Movement of each question by steering sentence")
        report.table(moved, MOVEMENTS)
        _add_questions(report, table)
    if not sides.empty:
        report.section("Do opposite identities move the model as far?", SYMMETRY)
        report.table(sides, SIDES)
    return report.write()


def sentences(changed: pd.DataFrame, moved: pd.DataFrame, sides: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence per comparison of unsteered answers, per steering and per pair of opposites."""
    for row in changed[changed["steering"] == PLAIN].to_dict("records") if not changed.empty else ():
        pair = f"From {row['before']} to {row['after']}"
        if row["verdict"] == "unknown":
            yield f"{pair}, whether unsteered answers changed is unknown, because {clause(row['reason'])}."
        elif row["verdict"] == "moved":
            yield f"{pair}, unsteered answers changed by {_points(row)}, more than chance alone ({_chance(row)} expected)."
        else:
            yield f"{pair}, unsteered answers did not clearly change ({_points(row)}; {_chance(row)} by chance alone)."
    for row in moved.to_dict("records"):
        name = f"{row['wave']}: the sentence for {row['steering']}"
        if row["verdict"] == "unknown":
            yield f"{name}: whether it moves the answers is unknown, because {clause(row['reason'])}."
        else:
            yield f"{name} {'moves' if row['verdict'] == 'moved' else 'does not clearly move'} the answers: {_points(row)}."
    for row in sides.to_dict("records"):
        pair = f"{row['wave']}: {row['first']} and {row['second']}"
        if row["verdict"] == "unknown":
            yield f"{pair}: whether both move the answers as far is unknown, because {clause(row['reason'])}."
        elif row["verdict"] == "not clear":
            yield f"{pair}: neither clearly moves the answers further than the other."
        else:
            yield f"{pair}: {row['verdict']} moves the answers further."


def _points(row: Mapping[Any, Any]) -> str:
    return f"{format_number(row['size'])} points per question"


def _chance(row: Mapping[Any, Any]) -> str:
    return format_number(row["by_chance"])


def _cells(wave: Answers) -> list[str]:
    lost = wave.table["value"].isna()
    reasons = count_table(wave.table["reason"][lost]) if "reason" in wave.table.columns else ""
    counts = [wave.table["question"].nunique(), int((~lost).sum()), int(lost.sum())]
    return [wave.label, wave.model, wave.date, *map(str, counts), reasons]


def _add_questions(report: Report, table: pd.DataFrame) -> None:
    """Add the steering table of each wave: a row per question, a column per steering."""
    for wave, wave_rows in table.groupby("wave", sort=False):
        names = list(dict.fromkeys(wave_rows["steering"]))
        wide = wave_rows.pivot_table(index=["question", "unsteered"], columns="steering", values="movement", sort=False)
        report.add(f"**{wave}**: movement of each question, in points, from the unsteered mean.")
        report.table(
            wide.reset_index().to_dict("records"),
            {"question": "question", "unsteered": "unsteered"} | {n: n for n in names},
        )


def _figure(table: pd.DataFrame) -> Figure:
    """Draw the movement of each question by steering, a panel per wave (the last MOST_PANELS)."""
    waves = list(dict.fromkeys(table["wave"]))[-MOST_PANELS:]
    questions, names = list(dict.fromkeys(table["question"])), list(dict.fromkeys(table["steering"]))
    note = "Points are means of the answers with a sentence minus the mean of the unsteered answers"
    with new_figure(2.4 + 1.9 * len(waves), 0.24 * len(questions) + 1.5, note, title="Steered answers") as figure:
        panels = figure.subplots(1, len(waves), sharex=True, sharey=True, squeeze=False)[0]
        for axis, wave in zip(panels, waves, strict=True):
            for name, look in zip(names, cycle(OTHERS)):
                rows = table[(table["wave"] == wave) & (table["steering"] == name)]
                places = [-questions.index(question) for question in rows["question"]]
                axis.plot(rows["movement"], places, look["markers"][0], color=look["color"], markersize=4, label=name)
            draw_null(axis, upright=True)
            axis.set_title(wave, fontsize=8)
            axis.set_xlabel("movement (points)")
        panels[0].set_yticks([-place for place in range(len(questions))], questions, fontsize=7)
        add_legend(figure, list(panels), 4)
    return figure


MOST_PANELS = 4
CHANGES: Mapping[str, Column] = {
    "before": "before", "after": "after", "steering": "steering", "questions": "questions", "change": estimate("change"),
    "size": number("size"), "by chance": number("by_chance"), "p (Holm)": number("p_holm", 3), "verdict": "verdict",
    "reason": "reason",
}  # fmt: skip
MOVEMENTS: Mapping[str, Column] = {
    "wave": "wave", "steering": "steering", "questions": "questions", "movement": estimate("change"), "size": number("size"),
    "by chance": number("by_chance"), "p (Holm)": number("p_holm", 3), "verdict": "verdict", "reason": "reason",
}  # fmt: skip
SIDES: Mapping[str, Column] = {
    "wave": "wave", "first": "first", "second": "second", "questions": "questions", "size of first": number("first_size"),
    "size of second": number("second_size"), "difference": estimate("difference"), "moves further": "verdict",
    "reason": "reason",
}  # fmt: skip
