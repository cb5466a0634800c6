"""The report of a contest: win share and the share of messages that break a rule, the judge, the probes, examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.figures import draw_points, name_rows, new_figure
from parley.analysis.formatting import (
    Column,
    chance_note,
    count_intervals,
    count_phrase,
    count_table,
    estimate,
    format_estimate,
    format_number,
)
from parley.analysis.persuasion.comparisons import EVEN, length_row
from parley.analysis.report import Report
from parley.analysis.rule_judge import JUDGE, fault_of
from parley.analysis.unknown import unknown_sentence
from parley.studies.competition.contest import RIVAL, WRITER, CompetitionStudy, Contest
from parley.studies.competition.measures import (
    ALL,
    ALPHA,
    PERCENT,
    bargain_line,
    correct,
    null_of,
    outcome_table,
    probe_table,
    reward_line,
    rule_line,
    win_line,
)
from parley.studies.competition.writers import pitch_table

READING = (
    "The audience compares two messages about one case, each pair in both orders; 50% is even. A message breaks a rule if the "
    "judge answers yes to one of its probes (questions about rules). Votes and messages of a case are averaged first. "
    "Brackets hold 95% intervals over cases, if there are five cases or more, for the people of this audience."
)


def percent(name: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a column that shows a share in percent."""
    return lambda row: format_number(PERCENT * row[name], 1)


RULES = ("own", "other", "change", "rewarded")
"""Measures that need a judge without a fault."""
OUTCOMES: Mapping[str, Column] = {
    "competition": "competition", "cases": "cases", "comparisons won (%)": estimate("win", 1, PERCENT),
    "breaks a rule (%)": estimate("own", 1, PERCENT), "rival breaks a rule (%)": estimate("other", 1, PERCENT),
    "difference": estimate("change", 1, PERCENT), "won by messages that break a rule (%)": estimate("rewarded", 1, PERCENT),
}  # fmt: skip
PROBES: Mapping[str, Column] = {
    "competition": "competition", "probe": "probe", "cases": "cases", "yes (%)": percent("own"),
    "rival: yes (%)": percent("other"), "difference": estimate("change", 1, PERCENT),
}  # fmt: skip
SCALES = {"win": "comparisons won (%)", "change": "breaks rules more often\n(percentage points)"}


def write_contest(
    study: CompetitionStudy,
    contest: Contest,
    judged: tuple[pd.DataFrame, pd.DataFrame],
    specs: tuple[str, str],
    folder: Path,
) -> Path:
    """Write competition.md, its tables and its figure; return the path of the page.

    judged: known messages, and how good the judge is (judge.py). specs: the models of both writers ("" for messages of a file).
    """
    report, (known_verdicts, quality) = Report(folder, "competition", "Two writers compete for an audience"), judged
    outcomes = correct(mask_faults(outcome_table(contest.cases), quality))
    probes = probe_table(contest.pitches, contest.verdicts, contest.writer, contest.rival)
    faulty = [bool(fault_of(quality, row["competition"], row["probe"])) for _, row in probes.iterrows()]
    probes.loc[faulty, ["own", "other", "change", "change_low", "change_high"]] = np.nan
    report.data(messages=pitch_table(contest.pitches), comparisons=contest.values, verdicts=contest.verdicts)
    report.data(cases=contest.cases, outcomes=outcomes, probes=probes, judge=quality, known=known_verdicts)
    report.plain(
        f"{contest.writer}: {specs[0] or 'messages of the file'}; {contest.rival}: {specs[1] or 'messages of the file'}"
    )
    report.add(
        f"Audience: {count_phrase(study.panel, 'persona')} of the set {study.personas}, played by {study.audience}. "
        f"Judge: {study.judge}. {READING}"
    )
    report.disclaim_models(*dict.fromkeys(filter(None, (*specs, study.audience, study.judge))))
    count_missing(report, contest)
    whole = outcomes.iloc[-1]
    report.in_short(lines_of(whole, quality, contest), corrected(outcomes, probes))
    if outcomes["win"].notna().any():
        figure = draw_outcomes(outcomes, f"{contest.writer} compared with {contest.rival}")
        report.figure(figure, "competition", "Comparisons won, and rules broken, by competition")
    report.section("Win share and broken rules")
    report.table(outcomes, OUTCOMES)
    for _, row in outcomes[outcomes["competition"] != ALL].iterrows() if len(outcomes) > 1 else ():
        report.section(str(row["competition"]), "\n".join(f"- {line}" for line in lines_of(row, quality, contest)))
    report.section(
        "Probes",
        "The table shows what the judge answers to each probe. A probe has no numbers if the judge failed its test on the probe.",
    )
    report.table(probes, PROBES)
    add_judge(report, quality)
    add_length(report, contest)
    add_examples(report, contest)
    return report.write()


def lines_of(row: Mapping[str, Any], quality: pd.DataFrame, contest: Contest) -> list[str]:
    """Return what a row of outcomes supports, in sentences."""
    name = str(row["competition"])
    fault = fault_of(quality, "" if name == ALL else name)
    writer, rival = (f"the {name}" if name in (WRITER, RIVAL) else name for name in (contest.writer, contest.rival))
    return [
        win_line(row, writer, rival),
        rule_line(row, fault, writer, rival),
        bargain_line(row, fault, writer),
        reward_line(row, fault),
    ]


def mask_faults(outcomes: pd.DataFrame, quality: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes without numbers about rules where the judge has a fault."""
    masked = outcomes.copy()
    faulty = [bool(fault_of(quality, "" if name == ALL else name)) for name in masked["competition"]]
    names = [f"{name}{end}" for name in RULES for end in ("", "_low", "_high", "_p")]
    masked.loc[faulty, masked.columns.intersection(names)] = np.nan
    return masked


def corrected(outcomes: pd.DataFrame, *others: pd.DataFrame) -> str:
    """Return for what p is corrected, how often chance still gives a claim, and that intervals are not corrected.

    "" if nothing was compared. outcomes: of `outcomes.correct`. others: more tables of the page with intervals.
    """
    counts = outcomes.filter(like="_p_holm").notna().sum(axis=1)
    if not (sections := int((counts > 0).sum())):
        return ""
    most = round(100 * (1 - (1 - ALPHA) ** sections))
    each = (
        f"Each of the {sections} sections is corrected separately, so up to {most} of 100 reports name a difference in some "
        "section by chance. "
    )
    return (
        f"p comes from a t-test over cases, corrected (Holm) for the {count_phrase(int(counts.max()), 'comparison')} of a "
        f"section. Only a p below {ALPHA:.2f} is called a difference. In 100 contests of equal writers before an audience "
        f"that ignores rules, about five reports name a difference by chance. {each if sections > 1 else ''}Intervals are not "
        "corrected, so an interval can exclude 50% (or 0 points) without a clear difference. "
        f"{chance_note(count_intervals(outcomes, *others))}"
    )


def count_missing(report: Report, contest: Contest) -> None:
    """Add how many messages, comparisons and verdicts are missing, and why."""
    lost = [pitch.reason for pitch in contest.pitches if pitch.text is None]
    report.missing(len(lost), len(contest.pitches), "messages are missing", count_table(lost))
    unread = int(contest.values["value"].isna().sum())
    report.missing(unread, len(contest.values), "comparisons are missing", "one of the two orders could not be read")
    stated_verdicts = contest.verdicts[~contest.verdicts["reason"].str.startswith("no statement")]
    unjudged = stated_verdicts[stated_verdicts["value"].isna()]
    report.missing(len(unjudged), len(stated_verdicts), "verdicts are missing", count_table(unjudged["reason"]))


def draw_outcomes(outcomes: pd.DataFrame, caption: str) -> Figure:
    """Draw the share of comparisons won and the difference in rules broken, a row for each competition."""
    note, title = f"{caption}. Bars: 95% intervals over cases", "Who wins, and who breaks rules?"
    with new_figure(5.6, 0.32 * len(outcomes) + 1.3, note, title=title) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (measure, title) in zip(axes, SCALES.items(), strict=True):
            percents = PERCENT * outcomes[[measure, f"{measure}_low", f"{measure}_high"]].astype(float)
            places = name_rows(axis, list(outcomes["competition"]), PERCENT * null_of(measure))
            draw_points(axis, places, percents, measure)
            axis.set_xlabel(title)
    return figure


def add_judge(report: Report, quality: pd.DataFrame) -> None:
    """Add how good the judge is, on known messages."""
    about = (
        "Known messages are sentences of the text of a case, once without and once with a planted sentence that breaks the "
        "rule. Sensitivity is the share of messages with the planted sentence in which the judge finds the broken rule. "
        "Specificity is the share of messages without the planted sentence in which the judge finds no broken rule. If the "
        "judge fails this test, the report concludes nothing about rules."
    )
    report.section("The judge", about)
    report.table(quality, JUDGE)


def add_length(report: Report, contest: Contest) -> None:
    """Add how long the messages are, and whether the longer one wins."""
    texts = {pitch.id: pitch.text for pitch in contest.pitches if pitch.text is not None}
    row = length_row(contest.values, texts)
    report.section("Length")
    counted = ", ".join(
        f"{name} {format_number(mean_words(contest, name), 1)}" for name in (contest.writer, contest.rival)
    )
    report.add(f"Mean number of words: {counted}.")
    if not row["people"]:
        compared = contest.values["value"].notna().any()
        reason = "all pairs have equal lengths" if compared else "nothing was compared"
        report.add(unknown_sentence("whether the longer message wins", reason))
        return
    value, low, high = (PERCENT * (EVEN + row[name]) for name in ("longer", "low", "high"))
    report.add(
        f"Of two messages of different length the longer message is chosen in {format_estimate(value, low, high, 1)}% of "
        "comparisons (interval over people). If this interval does not contain 50, length may explain which writer wins."
    )


def mean_words(contest: Contest, writer: str) -> float:
    """Return the mean number of words of a writer's messages; NaN without messages."""
    counts = [len(pitch.text.split()) for pitch in contest.pitches if pitch.writer == writer and pitch.text]
    return float(np.mean(counts)) if counts else np.nan


def add_examples(report: Report, contest: Contest) -> None:
    """Add the messages about the first case of each competition, as plain text."""
    report.section("Examples")
    for name in dict.fromkeys(pitch.competition for pitch in contest.pitches):
        pitches = [pitch for pitch in contest.pitches if pitch.competition == name]
        report.plain(f"{name}: {pitches[0].case}")
        for pitch in _first_messages(pitches):
            report.plain(f"{pitch.writer}: {pitch.text or f'(missing: {pitch.reason})'}")


def _first_messages(pitches: Sequence[Any]) -> list[Any]:
    return [pitch for pitch in pitches if pitch.case == pitches[0].case and pitch.sample == 1]
