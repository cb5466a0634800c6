"""The page of `run.py study belief-reader`: the judge's exam, what lines weigh, predictions against ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_number, number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import verdict
from parley.analysis.statistics.null import Null
from parley.analysis.unknown import unknown_sentence

from .courses import Courses
from .errors import Errors, prediction_errors, shuffled_tags
from .exam import PartExam, exam_sentence, likelihood, passes
from .fit import LINE, Panel, Weight, common_weight, panel_of, part_weights
from .reader import Weights, belief_of, read_all
from .tags import APPEAL, PARTS, REASON, Tag, tags_in

DEALS = 99
"""Shuffles of the null."""
EXAM = (
    "Each known message has tags: a reason, a direction for or against the claim, and an appeal. Messages with the words of one "
    "core sentence are one cluster, so brackets are 95% intervals over cores. The column `constant` has the share of right "
    "answers of the best judge that always gives one answer. A tag is uninformative, and moves no reader, if the interval of "
    "the tag is not above the column `constant`."
)
WEIGHTS = (
    "Weights are log odds for one new message for the claim; messages against the claim count with a minus. The row `{line}` "
    "has the weight of any message. A reason's row has its weight without an appeal, and an appeal's row the weight that the "
    "appeal adds to a reason. The regression also has a drift, the belief before, and the direction of the person's own "
    "messages. {corrected} Brackets are 95% intervals over {unit}s, not corrected for the number of rows."
)
CORRECTED = "The regression corrects errors of ratings by the rating before the last."
UNCORRECTED = (
    "Errors of ratings are not corrected, so weights can be too large: too few people have three ratings in a row."
)
COURSES = (
    "Errors are mean absolute distances in points (0-10) between predicted and own ratings. A person's ratings are predicted "
    "from the first rating and the messages read, with weights of the other {unit}s. For comparison, a reader of shuffled "
    "messages reads the messages of another {unit}."
)
EXAM_COLUMNS: Mapping[str, Column] = {
    "topic": "topic", "part": "part", "lines": "lines", "cores": "groups", "read": "read", "right": estimate("right"),
    "chance": number("chance"),
    "constant": number("constant"), "kappa": estimate("kappa"), "informs": lambda row: "yes" if row["informs"] else "no",
}  # fmt: skip
WEIGHT_COLUMNS: Mapping[str, Column] = {
    "lines": "name", "units": number("units", 1), "weight": estimate("value"), "reason without interval": "reason",
}  # fmt: skip


class Read(NamedTuple):
    """What was asked and read. known: tagged known lines with `true_` columns; lines: the tagged lines of the courses."""

    judge: str
    known: pd.DataFrame
    exams: Mapping[str, Mapping[str, PartExam]]
    courses: Courses | None
    lines: pd.DataFrame | None
    weights: Weights
    repeat: float
    seed: int


def write(read: Read, folder: Path) -> Path:
    """Write belief-reader.md, its tables and figure, and reader.toml; return the path of the page."""
    report = Report(folder, "belief-reader", "A Bayesian reader")
    report.add(f"Lines tagged by {disclaimers.spec_label(read.judge)}.")
    report.disclaim_models(read.judge)
    sentences = [_of_topic(slug, exam_sentence(exams), len(read.exams)) for slug, exams in read.exams.items()]
    able = all(map(passes, read.exams.values()))
    if able and read.courses is not None and read.lines is not None:
        _add_results(report, read, read.courses, read.lines, sentences)
    else:
        report.in_short(sentences)
    _add_exam(report, read)
    if read.lines is not None:
        _add_missing(report, read.lines)
        report.data(tags=read.lines.drop(columns="cluster"))
    return report.write()


def _of_topic(slug: str, sentence: str, topics: int) -> str:
    return f"{load_topic(slug).heading}: {sentence}" if topics > 1 else sentence


def _add_exam(report: Report, read: Read) -> None:
    rows = pd.DataFrame([{"topic": slug, **exam.row} for slug, exams in read.exams.items() for exam in exams.values()])
    report.section("The judge on known messages", EXAM)
    report.data(exam=rows, known=read.known)
    report.table(rows, EXAM_COLUMNS)
    for part in PARTS:
        answers = next(iter(read.exams.values()))[part].answers
        counts = sum(
            (exams[part].counts for exams in read.exams.values() if exams[part].answers == answers), np.zeros(1)
        )
        report.add(f"Messages by true {part} (rows) and the judge's answer (columns)" + _on_first(read, part) + ".")
        report.table(
            [[name, *(str(int(count)) for count in row)] for name, row in zip(answers, counts, strict=True)],
            ["", *answers],
        )
    unread = read.known[[f"why_{part}" for part in PARTS]].to_numpy().ravel()
    reasons = [reason for reason in unread if reason]
    report.missing(len(reasons), len(unread), "answers on known messages could not be read", count_table(reasons))


def _on_first(read: Read, part: str) -> str:
    differ = part == REASON and len({exams[part].answers for exams in read.exams.values()}) > 1
    return ", on topics with the reasons of the first topic" if differ else ""


def _add_missing(report: Report, lines: pd.DataFrame) -> None:
    asked = lines[lines["text"].notna()]
    for part in PARTS:
        reasons = [reason for reason in asked[f"why_{part}"] if reason]
        report.missing(len(reasons), len(asked), f"messages read have no {part}", count_table(reasons))


def _add_results(report: Report, read: Read, courses: Courses, lines: pd.DataFrame, sentences: list[str]) -> None:
    tags = list(tags_in(lines))
    worth = {slug: likelihood(exams) for slug, exams in read.exams.items()}
    if not courses.rated:
        report.in_short([*sentences, "Predictions are not compared with ratings, because the file has no ratings."])
        _add_planted(report, read, courses, tags)
        return
    panel = panel_of(courses.steps, tags, worth, read.repeat)
    weight = common_weight(panel)
    deals = [
        panel_of(courses.steps, shuffled_tags(courses, tags, read.seed, deal), worth, read.repeat)
        for deal in range(DEALS)
    ]
    null = Null(np.array([common_weight(deal).value for deal in deals]))
    errors, rows = prediction_errors(courses, tags, worth, read.repeat, read.seed)
    report.in_short([*sentences, weight_sentence(weight, null, courses.unit), *error_sentences(errors, courses.unit)])
    _add_weights(report, panel, weight, null, courses.unit)
    _add_courses(report, errors, rows, courses)
    _write_reader(report.folder, weight, part_weights(panel), read.repeat)


def weight_sentence(weight: Weight, null: Null, unit: str) -> str:
    """Return what a line does to beliefs; a claim needs an interval off 0 and a value outside of what shuffled lines give."""
    if math.isnan(weight.low):
        return unknown_sentence("whether messages move beliefs", weight.reason.replace("unit", unit))
    shown = format_estimate(weight.value, weight.low, weight.high)
    low, high = null.band
    side = verdict(weight.low, weight.high, 1, -1, 0)
    inside = low <= weight.value <= high
    chance = f"messages of other {unit}s give {format_number(low)} to {format_number(high)}"
    if not side or inside:
        return f"It is unknown whether messages move beliefs, because a message moves beliefs by {shown} log odds, and {chance}."
    moved = f"from 50% to {100 * belief_of(weight.value):.0f}%"
    way = "toward" if side > 0 else "away from"
    return f"A new message moves beliefs {way} its own side, by {shown} log odds ({moved}); {chance}."


def error_sentences(errors: Errors | None, unit: str) -> list[str]:
    """Return whether the reader predicts ratings better than no change, and than a reader of shuffled messages."""
    if errors is None:
        return [f"Ratings are not predicted, because a prediction needs ratings in two {unit}s."]
    sentences = []
    for name, other, mean in (
        ("no change", errors.still, errors.against_still),
        ("a reader of shuffled messages", errors.shuffled, errors.against_shuffled),
    ):  # fmt: skip
        start = f"The reader is {errors.reader:.2f} points off own ratings, {name} {other:.2f}"
        if math.isnan(mean.low):
            sentences.append(f"{start}; whether the two errors differ is unknown, with {mean.clusters} {unit}s.")
            continue
        side = verdict(mean.low, mean.high, "the reader is worse", "the reader is better", "no difference is shown")
        sentences.append(f"{start}; {side}: a difference of {format_estimate(mean.value, mean.low, mean.high)}.")
    return sentences


def _add_weights(report: Report, panel: Panel, weight: Weight, null: Null, unit: str) -> None:
    parts = part_weights(panel)
    table = pd.DataFrame([*[one._asdict() for one in (weight, *parts)]])
    table["reason"] = table["reason"].str.replace("unit", unit)
    report.section("How much a message weighs",
                   WEIGHTS.format(line=LINE, unit=unit, corrected=CORRECTED if panel.corrected else UNCORRECTED))  # fmt: skip
    report.data(weights=table, null=pd.DataFrame({"weight": null.draws}))
    report.table(table, WEIGHT_COLUMNS)
    report.missing(panel.missing, panel.lines, "messages read have no direction and move no one", "")
    report.missing(int((~panel.known).sum()), len(panel.change), "steps are left out", "a rating is missing")
    if len(shown := table[table["low"].notna()]):
        figure = dot_plot(shown, ["name"], "value", "weight (log odds)", "From ratings before and after each message")
        report.figure(figure, "weights", "Weights of messages, reasons and appeals, with intervals")


def _add_courses(report: Report, errors: Errors | None, rows: pd.DataFrame, courses: Courses) -> None:
    report.section("Predicted courses", COURSES.format(unit=courses.unit))
    report.data(courses=rows)
    if errors is None:
        return
    named = [("reader", errors.reader), ("no change", errors.still), ("reader of shuffled messages", errors.shuffled)]
    table = [[name, format_number(value)] for name, value in named]
    report.table(table, ["prediction", "error, points"])


def _add_planted(report: Report, read: Read, courses: Courses, tags: list[Tag]) -> None:
    """Add the courses of readers with given weights who begin at 50%."""
    rows = []
    steps: dict[str, list[int]] = {}
    for step in courses.steps:
        steps.setdefault(step.person, []).extend(step.heard)
    for person, places in steps.items():
        slug = str(courses.lines["topic"][places[0]])
        beliefs = read_all(0.5, [tags[place] for place in places], likelihood(read.exams[slug]), read.weights)
        rows += [
            {"person": person, "line": number, "text": courses.lines["text"][place], "belief": belief}
            for number, (place, belief) in enumerate(zip(places, beliefs[1:], strict=True), 1)
        ]
    table = pd.DataFrame(rows)
    report.section("A reader of given weights", "Each reader begins with a belief of 50%.")
    report.data(beliefs=table)
    last = table.groupby("person", sort=False).last().reset_index()
    report.table(last, {"reader": "person", "lines": "line", "belief at the end, %": estimate_percent})


def estimate_percent(row: Mapping[str, float]) -> str:
    """Return a belief in percent."""
    return f"{100 * row['belief']:.0f}"


def _write_reader(folder: Path, weight: Weight, parts: list[Weight], repeat: float) -> None:
    """Write reader.toml, which --reader and the environment `readers` take; without an estimate there is none."""
    if not math.isfinite(weight.value):
        return
    lines = [f"usual = {weight.value:.4f}", f"repeat = {repeat:g}"]
    for part, name in ((REASON, "reasons"), (APPEAL, "appeals")):
        known = [one for one in parts if one.name.startswith(f"{part} ") and math.isfinite(one.low)]
        lines += ["", f"[{name}]", *(f"{one.name.removeprefix(f'{part} ')} = {one.value:.4f}" for one in known)]
    (folder / "reader.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
