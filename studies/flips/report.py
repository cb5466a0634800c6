"""The page of `study flips`: flips.md, its tables (flips, pairs, opener, interviewer, guesses, steering) and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.card.card import rounded
from parley.analysis.card.records import ConditionRecords
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_p, format_span
from parley.analysis.report import Report
from parley.analysis.steering import steering_of
from parley.model.branching import recorded_scenario

from . import guesses, interviewer, steered
from .decomposition import FULL, MEASURES, estimates, left_out, pairs, sentences, usable
from .opener import anchor, followers, sentence

CAPTION = (
    "The same agents debate on equal seeds in five conditions: alone (no agent speaks), empty talk, stance only (partners state "
    "their positions, without reasons), replies from other rooms, and full debates. Before and after the debate, each agent "
    "says how much it agrees with a statement and with its opposite. Each part of the movement is the difference between one "
    "condition and the condition before. The six parts add up to the whole movement. Brackets are 95% intervals over groups of "
    "personas; p is corrected (Holm) for the differences that vary. A difference is shown if p is below .05 and the estimate is "
    "outside of its null."
)
NULL = (
    "The null of an estimate is the 95% range of the estimate if each group's difference could as well have the opposite sign. "
    "Instability and movement are not differences, so they have no null. A share is a part divided by the movement. A share can "
    "be below 0 or above 100%, because one part can move ratings back that another part moved."
)
COLUMNS: Mapping[str, Column] = {
    "measure": "measure", "part": "part", "groups": "units", "estimate": estimate("estimate", 3),
    "null": lambda row: format_span(row["null_low"], row["null_high"]), "p, corrected": lambda row: format_p(row["p_holm"]),
    "share of the movement": lambda row: format_estimate(row["share"], row["share_low"], row["share_high"]),
    "reason without interval": "reason", "reason without share": "share_reason",
}  # fmt: skip
ASKED = (
    "Each agent is also asked alone, before any debate. In three questions the interviewer says that the claim is true, says "
    "that the claim is not true, or gives no view. The row `for` has agreement after the view `true`, minus agreement without a "
    "view. The row `against` has agreement without a view, minus agreement after the view `not true`. The row `stated view` has "
    "the mean of `for` and `against`. The row `no view` has agreement if the interviewer gives no view, minus agreement in the "
    "plain survey question. Numbers below 0 mean movement away from the view."
)
MOVES: Mapping[str, Column] = {
    "move": "move", "groups": "units", "points": estimate("estimate", 2),
    "null": lambda row: format_span(row["null_low"], row["null_high"]), "p, corrected": lambda row: format_p(row["p_holm"]),
    "reason without interval": "reason",
}  # fmt: skip
GUESSED = (
    "After the full debates each agent guesses in private what is studied, from six options in random order. Each agent also "
    "guesses which change of its agreement the researchers expect. The null of the share takes an option at random as the right "
    "option. The row of movement compares agents who guess right with agents who guess wrong: how many points further do they "
    "move toward the change that they expect? The null of movement shuffles the guesses among agents of a topic and party."
)
GUESSES: Mapping[str, Column] = {
    "quantity": "quantity", "groups": "units", "agents": "agents", "estimate": estimate("estimate", 2),
    "null": lambda row: format_span(row["null_low"], row["null_high"]), "p": lambda row: format_p(row["p"]),
    "reason without interval": "reason",
}  # fmt: skip
STRUCK = (
    "Each number is the full debates minus the same debates on equal seeds without steering words. Steering words are settings "
    'such as roles and confirmation bias, and sentences of personas such as "You never change your mind."'
)
CHANGED = {
    "flips": "share of ratings that flip", "points": MEASURES["points"], "agreement": "points of agreement after the debate",
}  # fmt: skip
EFFECTS: Mapping[str, Column] = {
    "steering words change": "effect", "groups": "units", "in full minus without": estimate("estimate", 3),
    "null": lambda row: format_span(row["null_low"], row["null_high"]), "p, corrected": lambda row: format_p(row["p_holm"]),
    "reason without interval": "reason",
}  # fmt: skip
ROUNDED = "Some ratings have no probability for each answer, so the report uses whole ratings, and flips are steps of a point."


def write(study: ConditionRecords, folder: Path) -> Path:
    """Write flips.md, its tables and its figure; return the path of the page."""
    frame, header = pairs(study), next(iter(study.records.values()))[0].header
    flips, opener = estimates(usable(frame)), anchor(followers(study))
    answers = interviewer.answers(study)
    swayed = interviewer.sycophancy(interviewer.moves(answers))
    guessed = guesses.guesses(study)
    suspected = guesses.estimates(guessed)
    compared = steered.compared(study)
    struck = steered.effects(steered.changes(compared))
    report = Report(folder, "flips", "Every flip explained")
    report.data(
        flips=flips, pairs=frame, opener=pd.DataFrame([opener._asdict()]), interviewer=swayed, guesses=suspected,
        steering=struck,
    )  # fmt: skip
    report.add(CAPTION)
    report.disclaim(header)
    report.note(ROUNDED if rounded(study) else None)
    lines = [
        *sentences(flips), sentence(opener), *interviewer.sentences(swayed), *guesses.sentences(suspected),
        *steered.sentences(study, struck),
    ]  # fmt: skip
    report.in_short(lines)
    drawn = flips[(flips["measure"] == "flip") & flips["estimate"].notna()]
    if len(drawn):
        label = disclaimers.model_label(header)
        title = "Why do ratings flip?"
        figure = dot_plot(drawn, ["part"], "estimate", f"share of {MEASURES['flip']}", label, title)
        report.figure(figure, "flips", title)
    report.section("Parts", NULL)
    report.table(flips.assign(measure=flips["measure"].map(MEASURES)), COLUMNS)
    _add_left_out(report, frame)
    report.section("The opener's anchor", "The file `opener.csv` has the opener's slope with its interval and null.")
    report.section("The interviewer's stated view", ASKED)
    report.table(swayed, MOVES)
    lacking = int(answers[list(interviewer.QUESTIONS)].isna().any(axis=1).sum())
    report.missing(
        lacking, len(answers), "agents lack an answer to the interviewer, and are left out", interviewer.reasons(study)
    )
    report.section("What agents think is studied", GUESSED)
    report.table(suspected, GUESSES)
    unread = guessed.loc[guessed["chose"].isna(), "reason"]
    report.missing(len(unread), len(guessed), "agents have no guess, and are left out", count_table(unread))
    if steered.ARM in study.records:
        report.section("Steering words struck out", STRUCK)
        given = recorded_scenario(study.records[FULL][0].header, folder)
        report.plain(f"Struck out: {', '.join(steering_of(given))}.")
        report.table(struck.assign(effect=struck["effect"].map(CHANGED)), EFFECTS)
        _add_left_out(report, compared)
    return report.write()


def _add_left_out(report: Report, frame: pd.DataFrame) -> None:
    """Add how many pairs of agent and question are used in no arm, and why."""
    gone = dict(left_out(frame))
    reasons = ", ".join(f"{reason} {count}" for reason, count in gone.items())
    every = len(frame) // max(1, frame["arm"].nunique())
    report.missing(sum(gone.values()), every, "pairs of agent and question are left out", reasons)
