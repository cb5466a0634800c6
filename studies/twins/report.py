"""The page of `run.py study twins`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from parley.analysis.disclaimers import spec_label
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, number
from parley.analysis.human.measures import TITLES as HUMAN_TITLES
from parley.analysis.human.measures import measure_source
from parley.analysis.human.readers import ALL
from parley.analysis.report import Report

from .measures import NAMES, TITLES, against_line, closed_way, compare_all, correlations, sentence
from .rollout import Ended, mean_lines, measure_rollouts, movements
from .study import AGAIN, NATS, NO_STRANGER, OPINION, ROLLOUT, SAYING, STRANGER, UNCHANGED, TwinStudy
from .training import add_training, learned_lines

READING = (
    "A twin knows the attributes of its person and what the person answered and wrote before. A stranger's twin gets the same "
    "question and conversation, but has the history of another person on the topic. The topic and the conversation explain "
    "what a stranger's twin gets right. The column *gain* says how much nearer to the person the twin is than the other "
    "predictor, with a 95% interval over groups; above 0 the twin is better. The unit of analysis is the person. A group is "
    "all people who take part in one conversation."
)
GAINS: Mapping[str, Column] = {
    "measure": lambda row: TITLES[str(row["measure"])], "compared with": lambda row: NAMES[str(row["against"])],
    "people": "people", "groups": "groups", "points": "points", "twin": number("twin", 3), "other": number("other", 3),
    "gain": estimate("gain", 3), "why unknown": "reason",
}  # fmt: skip
R_ROWS: Mapping[str, Column] = {
    "predictions of": lambda row: NAMES[str(row["predictor"])], "points": "points", "groups": "groups", "r": estimate("r"),
}  # fmt: skip
MOVES: Mapping[str, Column] = {
    "measure": "title", "people": estimate("people"), "twins": estimate("twins"), "why unknown": "reason",
}  # fmt: skip
MOVED = ("own", "oldham", "partner", "still", "majority", "sd_before", "sd_after", "spread")
"""Measures of opinion change in the table of roll-outs (analysis/human/measures.py)."""
EXAMPLES = 3


@dataclass(frozen=True)
class Found:
    """What a study found: measured points, predictions, texts, conversations of twins, and how much is missing, by reason."""

    measured: pd.DataFrame
    predictions: pd.DataFrame
    texts: pd.DataFrame
    ended: Sequence[Ended] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0


def write(study: TwinStudy, found: Found, folder: Path, trained: pd.DataFrame | None = None) -> Path:
    """Write twins.md with its tables and figure; return the page's path. trained: measured points of held-out people."""
    measured = pd.concat([found.measured, measure_rollouts(study, found.ended)], ignore_index=True)
    gains = compare_all(measured)
    report = Report(folder, "twins", f"Twins of recorded people: {study.people.name}")
    report.disclaim_models(study.llm)
    report.add(
        f"{study.llm} spoke as twins of {len(study.people.by_person):,} recorded people, and predicted "
        f"{len(found.predictions):,} answers and {len(found.texts):,} messages."
    )
    lost = sum(found.reasons.values())
    listed = ", ".join(f"{name} {count}" for name, count in sorted(found.reasons.items()))
    report.missing(lost, found.asked, "different questions to twins have no readable answer", listed)
    report.plain(left_out(study))
    report.plain(without_stranger(measured))
    report.data(points=measured, gains=gains, predictions=found.predictions, texts=found.texts)
    lessons = [] if trained is None else learned_lines(trained)
    report.in_short([*headlines(gains, measured), *lessons])
    report.section("How near to the person twins are", READING)
    report.table(gains, GAINS)
    _add_figure(report, study, gains)
    _add_correlations(report, found.predictions)
    _add_rollouts(report, study, found)
    if trained is not None:
        add_training(report, trained)
    _add_examples(report, found.texts)
    return report.write()


def left_out(study: TwinStudy) -> str:
    """Say which rows of the file have no value or text; "" if all have one."""
    missing = study.people.missing
    rows = count_table([kind for kind, count in missing.items() for _ in range(count)])
    return f"Rows without a value or text are left out: {rows}." if missing else ""


def without_stranger(measured: pd.DataFrame) -> str:
    """Say how many points are compared with no stranger's twin, because nobody else has a history on their topic; "" if none."""
    alone = int((measured["reason"] == NO_STRANGER).sum())
    return (
        f"{alone:,} of {len(measured):,} comparisons with a stranger's twin are missing: {NO_STRANGER}."
        if alone
        else ""
    )


def headlines(gains: pd.DataFrame, measured: pd.DataFrame) -> Iterator[str]:
    """Yield what came out, in sentences: each measure against a stranger's twin first, then against what needs no model."""
    rows = gains.to_dict("records")
    against_strangers = [row for row in rows if row["against"] == STRANGER]
    for measure in (OPINION, NATS, SAYING, ROLLOUT):
        yield from (sentence(row) for row in against_strangers if row["measure"] == measure)
    if not against_strangers:
        yield "It is unknown how good twins are, because no point has a stranger with a history on its topic."
    if closed := closed_way(measured):
        yield (
            f"The twin closes {format_estimate(closed['closed'], closed['closed_low'], closed['closed_high'])} of the gap "
            "between a stranger's twin and the same person later (1: as near as the person)."
        )
    for name in (UNCHANGED, "others", AGAIN):
        yield from (
            against_line(row) for row in rows if row["against"] == name and row["measure"] in (OPINION, ROLLOUT)
        )


def _add_figure(report: Report, study: TwinStudy, gains: pd.DataFrame) -> None:
    """Add a figure of the gains in opinions and words; nats have another unit and no place on this axis."""
    shown = gains[(gains["measure"] != NATS) & gains["gain_low"].notna()]
    if shown.empty:
        return
    names = {OPINION: "next opinion", SAYING: "next message", ROLLOUT: "after roll-out"}
    table = shown.assign(measure=shown["measure"].map(names), against=shown["against"].map(NAMES))
    title = "How much nearer to the person twins are"
    figure = dot_plot(table, ["measure", "against"], "gain", "Gain of the twin (0 to 1)", spec_label(study.llm), title)
    report.figure(figure, "twins", title)


def _add_correlations(report: Report, predictions: pd.DataFrame) -> None:
    if predictions.empty:
        return
    report.section("Who answers what", "Correlation of predicted and real answers within questions.")
    rows = correlations(predictions)
    report.data(correlations=rows)
    report.table(rows, R_ROWS)


def _add_rollouts(report: Report, study: TwinStudy, found: Found) -> None:
    if not found.ended:
        if study.rollouts:
            report.section(
                "Whole conversations",
                "No conversation is simulated: no group has messages of two people and a later answer.",
            )
        return
    lost = sum(each.lost for each in found.ended)
    report.section(
        "Whole conversations",
        f"{len(found.ended):,} conversations of twins alone, with {mean_lines(found.ended):.1f} lines on average ({lost} "
        "messages without a readable text). Opinions before the conversation are real; the column `twins` has the twins' "
        "answers after the conversation.",
    )
    table = movement_table(study, found.ended)
    report.data(movements=table)
    report.table(table, MOVES)


def movement_table(study: TwinStudy, ended: Sequence[Ended]) -> pd.DataFrame:
    """Return a row per measure of opinion change: title, people and twins with their intervals, reason."""
    sources = [measure_source(source) for source in movements(study, ended)]
    rows = []
    for key in MOVED:
        row: dict[str, object] = {"title": HUMAN_TITLES[key], "reason": ""}
        for name, source in zip(("people", "twins"), sources, strict=True):
            of_key = source[source["key"] == key]
            whole = of_key[of_key["condition"] == ALL] if (of_key["condition"] == ALL).any() else of_key
            if whole.empty:
                continue
            whole_row = whole.iloc[0]
            row |= {name: whole_row["estimate"], f"{name}_low": whole_row["low"], f"{name}_high": whole_row["high"]}
            row["reason"] = row["reason"] or whole_row["reason"]
        if "people" in row:
            rows.append(row)
    columns = ["title", "people", "people_low", "people_high", "twins", "twins_low", "twins_high", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _add_examples(report: Report, texts: pd.DataFrame) -> None:
    if texts.empty:
        return
    report.section(
        "Examples", "What a person, its twin and a stranger's twin wrote. The file `texts.csv` has all texts."
    )
    rows = [[row["real"], row["twin"], row["stranger"]] for row in texts.head(EXAMPLES).to_dict("records")]
    report.table([[_short(text) for text in row] for row in rows], ["the person", "twin", "stranger's twin"])


def _short(text: str) -> str:
    return text if len(text) <= 240 else f"{text[:239]}…"
