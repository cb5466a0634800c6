"""The report of `run.py study distributions`: scores with ceilings and nulls, what naming a group does, and the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.contrasts import NEARER, amount
from parley.analysis.figures import OTHERS, add_legend, draw_null, draw_points, new_figure
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate
from parley.analysis.polls.asking import SAMPLED, Poll, StudyAnswers
from parley.analysis.polls.distances import CONDITIONS, KNOWN, NAMED, OTHER, SECOND, TVD, UNIFORM, UNNAMED, measure
from parley.analysis.polls.table import PLANTED
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, too_few, verdict
from parley.analysis.unknown import clause, unknown_sentence
from parley.llm.backends import split_spec

from .measures import compare_naming, score_conditions, score_entropies, score_groups
from .worth import FEWEST_QUESTIONS, SET_LEVEL, WORTH_CONDITIONS, measure_worth, show_worth

READING = (
    "The score is 100 (1 - d / u), where d is the mean distance (total variation) between the answers of the model and of "
    "people, and u is the mean distance of even shares from people. A score of 100 means equal shares, and 0 means that the "
    "model is as far from people as even shares are. The column `similarity` has 1 minus the Jensen-Shannon distance (base 2). "
    "The Wasserstein distance is a share of the scale's length, for questions whose options have an order. Groups of a question "
    "are averaged first. Brackets hold 95% intervals over questions, if there are five questions or more."
)
SCORES: Mapping[str, Column] = {
    "answers": lambda row: CONDITIONS[row["condition"]], "questions": "questions", "rows": "rows", "score": estimate("score", 1),
    "similarity": estimate("similarity"), "Wasserstein": estimate("wasserstein", 3),
}  # fmt: skip
PARTS: Mapping[str, Column] = {
    "questions": "questions", "rows": "rows", "group named": estimate(NAMED, 1), "no group": estimate(UNNAMED, 1),
    "second sample": estimate(SECOND, 1), "similarity": estimate("similarity"),
    "similarity, no group": estimate("similarity_unnamed"),
}  # fmt: skip
NAMING: Mapping[str, tuple[str, str, str, str]] = {
    "steerability": (
        "Naming the group brings the answers nearer to that group",
        "Naming the group takes the answers farther from that group",
        "Naming the group does not clearly change the distance from that group",
        "Naming the group does not change the distance from that group in any question",
    ),
    "own_group": (
        "The answers for a group fit that group better than the answers for other groups do",
        "The answers for a group fit that group worse than the answers for other groups do",
        "The answers for a group do not clearly fit that group better than the answers for other groups do",
        "The answers for a group fit that group exactly as well as the answers for other groups do",
    ),
}
"""What is said of a difference: above 0, below 0, not clear, and 0 in every question."""
WORTH = (
    "A model is worth k people if its shares are as near to people's as the shares of k people would be: confidence sets of k "
    f"people around the model's shares contain people's shares in {SET_LEVEL:.0%} of the questions. Shares of a random sample "
    "of 100 people are worth 100 people; a biased model is worth few people, however many replies it gives. The column `held "
    "out` has the share of questions whose set contains the people's shares if k is chosen from all other questions. Brackets "
    f"are 95% intervals over questions. The number of people is unknown with fewer than {FEWEST_QUESTIONS} questions with n."
)
WORTHS: Mapping[str, Column] = {
    "answers": lambda row: WORTH_CONDITIONS[row["condition"]], "questions": "questions", "worth in people": show_worth,
    "held out": estimate("held_out"),
}  # fmt: skip
MOST = 20
"""Groups that the figure shows."""


def write_distributions(study: Poll, answers: StudyAnswers, folder: Path) -> Path:
    """Write distributions.md, its tables (answers, scores, naming, entropy, groups, worth) and the figure; return its path."""
    rows = measure(study, answers)
    scores, naming, entropies, groups = (
        score_conditions(rows),
        compare_naming(rows),
        score_entropies(rows),
        score_groups(rows),
    )
    worth = measure_worth(rows)
    report = Report(folder, "distributions", "Answers of a model and of groups of people")
    report.data(answers=rows, scores=scores, naming=naming, entropy=entropies, groups=groups, worth=worth)
    report.add(_asked(study, rows), READING)
    report.disclaim_models(study.llm)
    report.note(_planted_note(study))
    _add_missing(report, study, answers)
    report.in_short([*findings(scores, naming, rows), worth_line(worth)])
    report.figure(
        draw(scores, entropies, groups, study.llm), "distributions", "Scores by condition, by entropy and by group"
    )
    report.section("Scores")
    report.table(scores, SCORES)
    report.section(
        "What naming the group does", "The table has differences in total variation (0 to 1), within questions."
    )
    report.table(naming, {"measure": "measure", "questions": "questions", "value": estimate("value", 3)})
    report.lines([
        "- steerability: distance of answers without the group's name, minus distance of answers with the name",
        "- own_group: distance of the answers for other groups from the group, minus distance of the answers for the group "
        "itself",
        "- moved: distance between the answers with and without the group's name",
        "- moved_beyond: the distance `moved`, minus the distance when replies are shuffled among the two conditions (0 "
            "for exact probabilities)",
    ])  # fmt: skip
    report.section("How many people the model is worth", WORTH)
    report.table(worth, WORTHS)
    about = "Entropy says how divided people are, from 0 (all people agree) to 1 (all options equally frequent)."
    report.section("By how divided people are", about)
    report.table(entropies, {"entropy": "part", **PARTS})
    report.section(
        "By group",
        "The columns without a group show which group's answers the model gives by default. Intervals are not corrected for "
        "the number of groups.",
    )
    report.table(groups, {"group": "part", **PARTS})
    report.add("The file `answers.csv` has the shares of people and of the model for every question and group.")
    return report.write()


def _asked(study: Poll, rows: pd.DataFrame) -> str:
    questions, groups = rows["question"].nunique(), rows["group"].nunique()
    how = "a sentence before the question" if study.way == "prefix" else "a persona in the system message"
    sampled = int((rows["way"] == SAMPLED).sum())
    told = "The model gave exact probabilities."
    if sampled:
        told = (
            f"For {sampled:,} of {len(rows):,} rows the model gave no probabilities, so up to {study.samples} replies were "
            "counted. With few replies, answers lie farther from people by chance. The second ceiling includes this chance."
        )
    answered = f"{count_phrase(questions, 'question')} for {count_phrase(groups, 'group')} ({study.table.form})"
    naming = f"The group was named by {how}, and each question was also asked without a group."
    return f"{study.llm} answered {answered}. {naming} {told}"


def _planted_note(study: Poll) -> str | None:
    if study.table.form != PLANTED or split_spec(study.llm)[0] == "oracle":
        return None
    return "The people of the survey are invented by the law of the oracle, so scores of other models mean nothing."


def _add_missing(report: Report, study: Poll, answers: StudyAnswers) -> None:
    given = [*answers.named, *answers.unnamed.values()]
    lost = [reason for answer in given for reason, count in answer.lost for _ in range(count)]
    empty = sum(answer.shares is None for answer in given)
    if lost:
        total = len(lost) + sum(answer.replies for answer in given)
        report.missing(len(lost), total, "replies could not be read", count_table(lost))
        report.missing(empty, len(given), "questions have no answer, and are left out", "")
    if study.table.skipped:
        listed = ", ".join(f"{reason} {count}" for reason, count in study.table.skipped.items())
        report.add(f"Of the file, {count_phrase(sum(study.table.skipped.values()), 'row')} were left out ({listed}).")


def findings(scores: pd.DataFrame, naming: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """Return what came out as sentences: the score and its ceilings, then what naming the group does."""
    by_name = scores.set_index("condition")
    named_row, second, known_row = (by_name.loc[name] for name in (NAMED, SECOND, KNOWN))
    lines = [_score_line(named_row, rows)]
    if pd.isna(second["score"]):
        reason = (
            "the file does not say how many people were asked (n)"
            if rows["n"].isna().all()
            else "on questions with n, people chose every option equally often"
        )
        lines.append(unknown_sentence("what a second sample of people would score", reason))
    else:
        partly = "" if second["rows"] == len(rows) else f" ({second['rows']:,} of {len(rows):,} rows, which have n)"
        lines.append(
            f"A second sample of as many people would score {second['score']:.1f}{partly}, and a model that knows their shares "
            f"{known_row['score']:.1f}."
        )
    return [*lines, *(_naming_line(row, rows) for row in naming.to_dict("records") if row["measure"] in NAMING)]


def _score_line(row: pd.Series, rows: pd.DataFrame) -> str:
    if pd.isna(row["score"]):
        reason = "people chose every option equally often" if row["rows"] else "no question has an answer"
        return unknown_sentence("the score", reason)
    shown = format_estimate(row["score"], row["score_low"], row["score_high"], 1)
    over = count_phrase(int(row["questions"]), "question")
    if np.allclose((rows[f"{TVD}_{NAMED}"] - rows[f"{TVD}_{UNIFORM}"]).dropna(), 0.0):
        return f"The score is {shown} over {over}, and equals the score of even shares in each question."
    if pd.isna(row["score_low"]):
        reason = too_few("question") if row["questions"] < FEWEST else NO_VARIATION
        return (
            f"It is unknown whether the score is above the score of even shares (0), because {clause(reason)}; the score is "
            f"{shown} over {over}."
        )
    side = verdict(row["score_low"], row["score_high"], "above", "below", "not clearly apart from")
    return f"The score is {shown} over {over}: {side} the score of even shares, which is 0."


def _naming_line(row: Mapping[Any, Any], rows: pd.DataFrame) -> str:
    nearer, farther, unclear, unchanged = NAMING[str(row["measure"])]
    if not row["questions"]:
        one_group = row["measure"] == "own_group" and rows.groupby("question")["group"].nunique().max() < 2
        reason = (
            "no question was answered by two groups"
            if one_group
            else "no question has the answers that this measure needs"
        )
        return unknown_sentence(_subject(str(row["measure"])), reason)
    shown = amount((row["value"], row["value_low"], row["value_high"]), NEARER, "of total variation", 3)
    over = count_phrase(row["questions"], "question")
    if row["value"] == 0 and pd.isna(row["value_low"]) and row["questions"] >= FEWEST:
        return f"{unchanged} ({over})."
    if pd.isna(row["value_low"]):
        reason = too_few("question") if row["questions"] < FEWEST else NO_VARIATION
        return f"It is unknown {_subject(str(row['measure']))}, because {clause(reason)}; the difference is {shown} ({over})."
    side = verdict(row["value_low"], row["value_high"], nearer, farther, unclear)
    return f"{side}: {shown}, {over}."


def worth_line(worth: pd.DataFrame) -> str:
    """Return what the answers with the group named are worth, as a sentence."""
    row = worth.set_index("condition").loc[NAMED]
    if row["reason"]:
        return unknown_sentence("how many people the model is worth", row["reason"])
    if np.isinf(row["worth"]):
        return (
            f"The model is worth more people than the survey can show; the interval begins at {row['worth_low']:,.0f}."
        )
    over = count_phrase(row["questions"], "question")
    return f"With the group named, the model is worth {show_worth(row)} people, over {over}."


def _subject(measure: str) -> str:
    if measure == "steerability":
        return "whether naming the group brings the answers nearer to that group"
    return "whether the answers for a group fit that group best"


def draw(scores: pd.DataFrame, entropies: pd.DataFrame, groups: pd.DataFrame, llm: str) -> Figure:
    """Draw the scores by condition, by entropy and by group, with bars for 95% intervals over questions."""
    shown = _extremes(groups)
    note = (
        f"{disclaimers.spec_label(llm)}. Bars are 95% intervals over questions; 0 is the score of even "
        "shares, and 100 the score of the people's own shares"
    )
    few = f"; {len(shown)} of {len(groups)} groups" if len(shown) < len(groups) else ""
    title = "How near the answers are to people's answers"
    with new_figure(7.0, 2.4 + 0.11 * len(shown), f"{note}{few}", title=title) as drawn:
        left, middle, right = drawn.subplots(1, 3)
        order = [name for name in (KNOWN, SECOND, NAMED, UNNAMED, OTHER) if name in set(scores["condition"])]
        ordered_scores = scores.set_index("condition").loc[order[::-1]].reset_index()
        draw_points(left, range(len(ordered_scores)), ordered_scores, "score", color=OTHERS[0]["color"])
        words = {
            KNOWN: "shares known", SECOND: "second sample", NAMED: "group named", UNNAMED: "no group", OTHER: "other groups",
        }  # fmt: skip
        left.set_yticks(range(len(ordered_scores)), [words[name] for name in ordered_scores["condition"]], fontsize=7)
        left.set_title("All questions")
        _draw_parts(middle, entropies.iloc[::-1], "How divided people are (entropy)")
        _draw_parts(right, shown.iloc[::-1], "Groups")
        for axis in (left, middle, right):
            draw_null(axis, upright=True)
            axis.set_xlabel("Score")
            axis.margins(y=0.15)
        add_legend(drawn, [middle, right], 3)
    return drawn


def _extremes(groups: pd.DataFrame) -> pd.DataFrame:
    """Return the groups, the highest score first; of many only the highest and the lowest."""
    ordered = groups.sort_values(NAMED, ascending=False, kind="stable", na_position="last")
    if len(ordered) <= MOST:
        return ordered
    return pd.concat([ordered.head(MOST // 2), ordered.tail(MOST // 2)])


def _draw_parts(axis: Axes, parts: pd.DataFrame, title: str) -> None:
    labels: Sequence[tuple[str, str]] = (
        (NAMED, "group named"),
        (UNNAMED, "no group"),
        (SECOND, "second sample of people"),
    )
    for number, (condition, label) in enumerate(labels):
        if parts[condition].isna().all():
            continue
        places = np.arange(len(parts)) + 0.18 * (1 - number)
        look: Any = {"fmt": OTHERS[number]["markers"][0], "color": OTHERS[number]["color"], "label": label}
        draw_points(axis, places, parts, condition, **look)
    axis.set_yticks(range(len(parts)), [_short(name) for name in parts["part"]], fontsize=6)
    axis.set_title(title)


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"…{name[-25:]}"
