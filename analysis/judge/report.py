"""What a judge said of a run, and how far it can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, group_title, markdown_table
from parley.analysis.judge.judging import Judging
from parley.analysis.judge.quality import QUALITY, against_themselves, against_truth, confusion, warning
from parley.analysis.reporting import Report
from parley.analysis.tables import Tables

THEMSELVES = (
    "The hidden rating of the same agent after the same round. Where agents were asked for something else than agreement "
    "with the claim (such as the severity of a problem), there are ranks alone: a difference of the two is no number."
)
UNCHECKED = (
    "**Unchecked**: no statement of this run has a grade that is known beforehand. Judge a run of `--llm oracle` with the same "
    "judge to see how well it reads."
)


def write(verdicts: pd.DataFrame, tables: Tables, folder: Path, spec: str, judging: Judging) -> Path:
    """Write judge.md, its tables (quality, agreement) and the figure; the path of the first."""
    checked, own = against_truth(verdicts), against_themselves(verdicts, tables.attitudes)
    report = Report(folder, "judge", "Statements before a judge")
    report.data(**{Path(QUALITY).stem: checked, "agreement": own})
    _open(report, verdicts, tables, spec, judging)
    report.note(warning(checked), UNCHECKED if checked.empty else None)
    reasons = count_table(reason for noted in verdicts["reasons"] for reason in str(noted).split(", ") if reason)
    lacking = int(verdicts["score"].isna().sum())
    report.missing(lacking, len(verdicts), "have no score", f"replies not read: {reasons}" if reasons else "")
    report.lines(f"- {load_topic(slug).heading}: {load_topic(slug).claim}" for slug in verdicts["topic"].unique())
    report.section("Scores", "Mean score (1-7, 7: agrees strongly with the claim) of the first and the last statement.")
    ends = _first_and_last(verdicts)
    report.figure(_figure(ends, spec), "judge", "Mean scores of the first and the last statement")
    report.table(ends, {name: name for name in ends})
    if len(checked):
        share = checked["statements"].sum() / max(len(verdicts), 1)
        told = f"Compared with the known grades of our own speakers' sentences ({share:.0%} of the statements)."
        report.section("How good is the judge?", told)
        report.table(checked, _columns("against the grade"))
        report.add("Statements by true score (rows) and score given (columns), both rounded.")
        report.add(confusion_table(confusion(verdicts)))
    if len(own):
        report.section("Compared with what agents say of themselves", THEMSELVES)
        report.table(own, _columns("against self-report"))
    return report.write()


def _open(report: Report, verdicts: pd.DataFrame, tables: Tables, spec: str, judging: Judging) -> None:
    """Say what was judged, by whom, and who spoke."""
    told = f"told {', '.join(judging.told)}" if judging.told else "told neither name nor party"
    report.add(
        f"{count_phrase(len(verdicts), 'statement')} judged by {spec}, {told}, up to {judging.shown} examples a topic."
    )
    report.disclaim(tables.header)


def _first_and_last(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A row a topic, group and seat: mean score of the first and the last statement, and the rooms."""
    rows = []
    for (topic, group, seat), part in verdicts.groupby(["topic", "group", "seat"], sort=False):
        means = part.groupby("statement")["score"].mean()
        names = {"topic": load_topic(str(topic)).heading, "group": group_title(str(group)), "seat": str(seat).title()}
        rows.append(names | {"first": means.iloc[0], "last": means.iloc[-1], "rooms": part["room"].nunique()})
    return pd.DataFrame(rows)


def _figure(ends: pd.DataFrame, spec: str) -> Figure:
    """A line a topic, group and seat, from the first score (hollow) to the last (filled)."""
    rows = [fill(", ".join(row), 44) for row in ends[["topic", "group", "seat"]].to_numpy().tolist()]
    caption = f"Judged by {disclaimers.spec_label(spec)}: hollow the first statement, filled the last"
    with new_figure(5.2, 0.3 * len(ends) + 1.1, caption) as drawn:
        axis = drawn.subplots()
        places = range(len(ends))[::-1]
        axis.hlines(places, ends["first"], ends["last"], color="#999999", linewidth=1.0)
        axis.plot(ends["first"], places, "o", color=ESTIMATE, markerfacecolor="white", markersize=4)
        axis.plot(ends["last"], places, "o", color=ESTIMATE, markersize=4)
        axis.set_yticks(places, rows, fontsize=6)
        axis.set(xlim=(0.8, 7.2), xlabel="mean score (1-7)")
    return drawn


def _columns(against: str) -> Mapping[str, Column]:
    return {
        "topic": lambda row: load_topic(row["topic"]).heading, "statements": "statements", "rooms": "rooms",
        f"rank correlation {against}": lambda row: row["reason"] or estimate("r")(row),
        "score minus it": estimate("bias"), "mean distance": "error",
    }  # fmt: skip


def confusion_table(found: pd.DataFrame) -> str:
    """Counts by true score (rows) and score given (columns)."""
    rows = [[str(point), *map(str, row)] for point, row in zip(found.index, found.to_numpy(), strict=True)]
    return markdown_table(["", *map(str, found.columns)], rows)
