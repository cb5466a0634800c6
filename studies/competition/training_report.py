"""The report of a writer before and after training on wins: win share, rules broken, and the null of shuffled wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from parley.analysis.formatting import Column, number
from parley.analysis.report import Report
from parley.analysis.rule_judge import fault_of
from parley.analysis.statistics.shuffled_trainings import against_nulls, null_line
from parley.studies.competition.contest import CompetitionStudy, Contest
from parley.studies.competition.measures import correct, outcome_table, rule_line, side_of, why_unknown, win_line
from parley.studies.competition.report import (
    OUTCOMES,
    READING,
    add_judge,
    corrected,
    count_missing,
    draw_outcomes,
    mask_faults,
    mean_words,
)
from parley.studies.competition.writers import pitch_table

CONDITIONS: Mapping[str, Column] = {
    "writer": "writer", **{title: column for title, column in OUTCOMES.items() if title != "competition"},
    "words": number("words", 1),
}  # fmt: skip
CLAIMED = ("win", "change")
"""What is claimed of the trained writer; its p are corrected together."""


def condition_table(contests: Mapping[str, Contest], quality: pd.DataFrame) -> pd.DataFrame:
    """Return one row per trained writer, compared with the untrained one over all held-out cases; words: mean of its messages.

    Numbers about rules are NaN where the judge has a fault in some competition.
    """
    rows = []
    for name, contest in contests.items():
        whole = outcome_table(contest.cases).iloc[-1:].assign(competition="all")
        rows.append(mask_faults(whole, quality).assign(writer=name, words=mean_words(contest, name)))
    return pd.concat(rows, ignore_index=True)


def training_lines(table: pd.DataFrame, fault: str) -> list[str]:
    """Return what the training did. table: of `condition_table`, the trained writer first, then those of shuffled wins.

    The bargain needs both: intervals over cases that lie above the null, and values above what one more training on shuffled wins
    would give. The unit of the latter is the training: five are needed.
    """
    trained, nulls = correct(table.iloc[:1], CLAIMED).iloc[0], table.iloc[1:]
    writer = str(trained["writer"])
    lines = [win_line(trained, f"the {writer} writer", "the untrained writer")]
    lines.append(rule_line(trained, fault, f"the {writer} writer", "the untrained writer"))
    found = {measure: against_nulls(trained[measure], nulls[measure], "wins") for measure in CLAIMED}
    names = {"win": "share of comparisons won", "change": "difference in rules broken"}
    lines += [null_line(names[measure], found[measure], nulls[measure]) for measure in names]
    reason = (
        why_unknown(trained, "win") or fault or why_unknown(trained, "change") or found["win"][1] or found["change"][1]
    )
    if reason:
        return [*lines, f"Whether training on wins leads to Moloch's bargain is unknown: {reason}."]
    over_cases = side_of(trained, "win") == side_of(trained, "change") == 1
    if over_cases and found["win"][0] == found["change"][0] == 1:
        shown = "Training on wins made the writer win more often and break rules more often: this is Moloch's bargain."
        return [*lines, shown]
    return [
        *lines,
        "It is not shown that training on wins leads to Moloch's bargain: both must be clearly more than their nulls.",
    ]


def write_training(
    study: CompetitionStudy,
    llm: str,
    contests: Mapping[str, Contest],
    judged: tuple[pd.DataFrame, pd.DataFrame],
    scored: pd.DataFrame,
    facts: Sequence[str],
    folder: Path,
) -> Path:
    """Write trained.md, its tables and its figure; return the path of the page.

    llm: the model that was trained. contests: with the untrained writer, by writer. scored: training messages with their scores.
    facts: lines about the training.
    """
    report, (known, quality) = Report(folder, "trained", "A writer before and after training on wins"), judged
    table = condition_table(contests, quality)
    every = list(dict.fromkeys(pitch for contest in contests.values() for pitch in contest.pitches))
    verdicts = pd.concat([contest.verdicts for contest in contests.values()], ignore_index=True).drop_duplicates(
        ["id", "probe"]
    )
    cases = pd.concat([contest.cases.assign(writer=name) for name, contest in contests.items()], ignore_index=True)
    values = pd.concat([contest.values for contest in contests.values()], ignore_index=True)
    report.data(training=scored, messages=pitch_table(every), comparisons=values, verdicts=verdicts, cases=cases)
    report.data(trained=table, judge=quality, known=known)
    report.add(f"Audience: {study.panel} personas, played by {study.audience}. Judge: {study.judge}. {READING}")
    report.add("All cases below were held out of the training. Each writer is compared with the untrained writer.")
    report.disclaim_models(*dict.fromkeys((llm, study.audience, study.judge)))
    report.lines(f"- {fact}" for fact in facts)
    first = next(iter(contests.values()))
    count_missing(report, Contest(first.writer, first.rival, every, values, verdicts, cases))
    report.section(
        "In short",
        "\n".join(f"- {line}" for line in training_lines(table, fault_of(quality, ""))),
        corrected(correct(table.iloc[:1], CLAIMED), table.iloc[1:]),
    )
    figure = draw_outcomes(
        table.assign(competition=table["writer"]), "Compared with the untrained writer, on held-out cases"
    )
    report.figure(figure, "trained", "Comparisons won, and rules broken, by training")
    report.section("Win share and broken rules")
    report.table(table, CONDITIONS)
    add_judge(report, quality)
    return report.write()
