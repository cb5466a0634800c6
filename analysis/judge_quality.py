"""How good a judge is, and the report of its scores.

A grade is known for every statement made of sentences of the oracle's banks: for all of the oracle's statements, most of the
pocket model's, none of other models'. If none is known, the judge is unchecked, and the report says so. If a judge is bad
(`faults`), every report that uses its scores says so in its first lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import rankdata

from parley.agents.probe import scales
from parley.agents.society import PartyNames
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    estimate,
    format_estimate,
    markdown_table,
    number,
)
from parley.analysis.judge_reliability import ABOUT, corrected_rows
from parley.analysis.line_gaps import UNKNOWN, calibrate, gap_row, line_gaps
from parley.analysis.report import Report
from parley.analysis.statement_judge import SCALE, Judging
from parley.analysis.statistics.attenuation import FLOOR
from parley.analysis.statistics.intervals import Floats, correlation, correlation_interval
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topic_bank
from parley.model.titles import group_title, seat_title

QUALITY = "quality.csv"
FEWEST = 10
"""With fewer statements there is no correlation."""
LEAST_R, MOST_BIAS = FLOOR, 0.5
"""A judge must not be used on a topic if its rank correlation with known true scores is below the first, or if its scores are
off by the second on average (points of 1-7) or more.
"""
FEW, ONE_SCORE, ONE_OTHER = "too few statements", "one score for all statements", "all statements are alike"
"""Reasons why there is no correlation."""
GAPS = (
    "The gap of a reply is the judge's score on the axis of the topic (0-10), minus the speaker's private rating at that time. "
    "*Toward the audience* is the gap in the direction of the mean rating of the other agents before the round. The *judge's "
    "floor* is the gap that the judge's errors alone would cause if every reply said exactly the rating. The floor is estimated "
    "from replies of this run with a known true score. The floor is empty if no reply has a known true score. Brackets are 95% "
    "intervals over rooms. studies/honesty/README.md explains the columns."
)
GAP_COLUMNS: Mapping[str, Column] = {
    "topic": lambda row: load_topic(row["topic"]).heading, "group": "group", "rooms": "rooms", "lines": "lines",
    "lines without a gap": "missing", "toward the audience": estimate("toward"), "judge's floor": number("floor"),
    "above the floor": estimate("above"), "distance": estimate("absolute"),
}  # fmt: skip
COLUMNS = ["topic", "statements", "rooms", "r", "r_low", "r_high", "reason", "bias", "bias_low", "bias_high", "error"]
THEMSELVES = (
    "The judge's scores are compared with the private rating of the same agent after the same round. If the survey does not ask "
    "for agreement with the claim (but, for example, for the severity of a problem), only ranks are compared."
)
UNCHECKED = (
    "**The judge is unchecked**, because no statement of this run has a known true score. To see how well the judge "
    "reads, use the judge on a run of `--llm oracle`."
)


def against_truth(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, of statements with a score and a known grade; columns: COLUMNS.

    r: rank correlation (NaN with a reason). bias: mean score minus grade, points of 1-7. Both have 95% intervals over rooms.
    error: mean absolute difference.
    """
    graded = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    return quality_by_topic(graded, "truth")


def against_themselves(verdicts: pd.DataFrame, attitudes: pd.DataFrame) -> pd.DataFrame:
    """The same, compared with the private rating of the same agent after the same round, on the judge's scale.

    If agents were asked for something else than agreement with the claim (`comparable`), bias and error are NaN, because
    agreement with a claim minus the severity of a problem has no meaning.
    """
    both = with_own_ratings(verdicts, attitudes)
    rows = quality_by_topic(both.dropna(subset=["score", "own"]), "own")
    probes = both.drop_duplicates("topic").set_index("topic")["probe"]
    other = [not comparable(str(topic), str(probes[topic])) for topic in rows["topic"]]
    rows.loc[other, ["bias", "bias_low", "bias_high", "error"]] = np.nan
    return rows


def with_own_ratings(verdicts: pd.DataFrame, attitudes: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts with `own`, the private rating of the agent after the same round on the judge's scale, and `probe`."""
    ratings = attitudes[["room", "agent", "round", "probe", "attitude"]]
    both = verdicts.merge(ratings, on=["room", "agent", "round"], how="inner")
    return both.assign(own=on_scale(both["attitude"], both["topic"]))


def comparable(topic: str, probe: str) -> bool:
    """Whether a survey question asks for what a judge scores: agreement with the topic's claim."""
    loaded_topic = load_topic(topic)
    return loaded_topic.probe(probe).construct == loaded_topic.probe("agreement").construct


def faults(checked: pd.DataFrame) -> dict[str, str]:
    """By topic: why a judge must not be used there, from the rows of `against_truth`; topics without a fault are left out."""
    fault_by_topic = {str(row["topic"]): _fault(row) for row in checked.to_dict("records")}
    return {topic: fault for topic, fault in fault_by_topic.items() if fault}


def _fault(row: dict[str, Any]) -> str:
    """A topic with too few statements has no fault, and no proof of quality either."""
    parts = []
    if row["reason"] == ONE_SCORE:
        parts.append("the judge gives all statements one score")
    elif row.get("r_high", math.nan) < LEAST_R:
        shown = format_estimate(row["r"], row.get("r_low"), row.get("r_high"))
        parts.append(f"the judge's rank correlation with known true scores is {shown}, below {LEAST_R}")
    if row["statements"] >= FEWEST and abs(row["bias"]) >= MOST_BIAS:
        side = "high" if row["bias"] > 0 else "low"
        parts.append(f"the judge's scores are {abs(row['bias']):.2f} points too {side} on average")
    return " and ".join(parts)


def warning(checked: pd.DataFrame) -> str:
    """The first lines of a report that uses the scores of a judge; "" if the judge has no fault."""
    if not (fault_by_topic := faults(checked)):
        return ""
    named = "; ".join(f"on {load_topic(topic).title} {fault}" for topic, fault in fault_by_topic.items())
    return (
        f"**Do not use this judge's scores**: {named}. Results from this judge's scores would describe the judge, not "
        "the agents."
    )


def doubt(checked: pd.DataFrame) -> str:
    """Return on which topics a judge is neither shown to be good nor bad, because the interval holds LEAST_R; "" if none."""
    unsure = [row for row in checked.to_dict("records") if not math.isnan(row["r"])]
    rows = [row for row in unsure if not row["r_low"] >= LEAST_R and not row["r_high"] < LEAST_R]
    shown = [
        f"on {load_topic(row['topic']).title} {format_estimate(row['r'], row['r_low'], row['r_high'])}" for row in rows
    ]
    if not shown:
        return ""
    return (
        f"It is unknown whether this judge's rank correlation with known true scores is at least {LEAST_R}, because "
        f"{'; '.join(shown)}. Judge more statements or rooms."
    )


def truth(verdicts: pd.DataFrame) -> pd.Series:
    """The grade of each statement, on the judge's scale; NaN if none of its sentences is known."""
    banks = {slug: topic_bank(load_topic(str(slug)).root) for slug in verdicts["topic"].unique()}
    grades = [
        bank.grade(str(text)) if (bank := banks[slug]) else None
        for slug, text in zip(verdicts["topic"], verdicts["text"], strict=True)
    ]
    return on_scale(pd.Series(grades, index=verdicts.index, dtype=float), verdicts["topic"])


def warning_of(folder: Path) -> str:
    """The warning on scores of `run.py study judge`, from the quality.csv that it wrote into the folder; "" if there is none."""
    path = folder / QUALITY
    if not path.is_file():
        return ""
    checked = pd.read_csv(path, converters={"reason": str})
    return warning(checked) if {"topic", "statements", "r", "reason", "bias"} <= set(checked.columns) else ""


def confusion(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The number of statements by true score (rows, 1-7, rounded) and score given (columns, 1-7, rounded)."""
    graded = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    rounded = [graded[name].round().astype("int64").rename(name) for name in ("truth", "score")]
    counts = pd.crosstab(*rounded) if len(graded) else pd.DataFrame(dtype="int64")
    points = pd.Index(scales()[SCALE].points)
    return counts.reindex(index=points.rename("truth"), columns=points.rename("score"), fill_value=0)


def on_axis(scores: pd.Series, slugs: pd.Series) -> pd.Series:
    """Scores of 1-7 on the claim as 0-10 on the axis of their topics."""
    return _converted(scales()[SCALE].attitude, scores, slugs)


def on_scale(attitudes: pd.Series, slugs: pd.Series) -> pd.Series:
    """0-10 on the axis of their topics as 1-7 on the claim."""
    return _converted(scales()[SCALE].rating, attitudes, slugs)


def _converted(convert: Callable[[float, int], float], values: pd.Series, slugs: pd.Series) -> pd.Series:
    """Each value converted between scale and axis, by the polarity of its topic's claim."""
    polarities = [load_topic(str(slug)).probe("agreement").polarity for slug in slugs]
    converted = [convert(value, polarity) for value, polarity in zip(values.astype(float), polarities, strict=True)]
    return pd.Series(converted, index=values.index, dtype=float)


def quality_by_topic(statements: pd.DataFrame, other: str) -> pd.DataFrame:
    """One row per topic: COLUMNS, of statements with a score and a true grade (the column `other`), both 1-7."""
    rows = [
        _row(str(topic), topic_statements, other) for topic, topic_statements in statements.groupby("topic", sort=False)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(topic: str, statements: pd.DataFrame, other: str) -> dict[str, Any]:
    gaps, reason = statements["score"] - statements[other], _why_no_correlation(statements, other)
    bias = clustered_mean(gaps, statements["room"])
    row: dict[str, Any] = {
        "topic": topic,
        "statements": len(statements),
        "rooms": statements["room"].nunique(),
        "reason": reason,
    }
    row |= {"bias": bias.value, "bias_low": bias.low, "bias_high": bias.high, "error": float(gaps.abs().mean())}
    if not reason:
        sums = _rank_sums(statements, other)
        low, high = correlation_interval(sums)
        row |= {"r": float(correlation(sums.sum(axis=0))), "r_low": low, "r_high": high}
    return row


def _why_no_correlation(statements: pd.DataFrame, other: str) -> str:
    if len(statements) < FEWEST:
        return FEW
    if statements[other].nunique() < 2:
        return ONE_OTHER
    return ONE_SCORE if statements["score"].nunique() < 2 else ""


def _rank_sums(statements: pd.DataFrame, other: str) -> Floats:
    """(rooms, 6): the sums of a correlation of ranks (over all statements), room by room."""
    x, y = rankdata(statements["score"]), rankdata(statements[other])
    terms = pd.DataFrame(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
    sums: Floats = terms.groupby(statements["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    return sums


def write(verdicts: pd.DataFrame, tables: Tables, folder: Path, spec: str, judging: Judging) -> Path:
    """Write judge.md, its tables (quality, agreement) and the figure; return the path of the first."""
    checked, agreement = against_truth(verdicts), against_themselves(verdicts, tables.attitudes)
    report = Report(folder, "judge", "Statements before a judge")
    report.data(**{Path(QUALITY).stem: checked, "agreement": agreement})
    speaker = (
        f"which saw the speaker's {' and '.join(judging.told)}" if judging.told else "which saw neither name nor party"
    )
    report.add(
        f"{count_phrase(len(verdicts), 'statement')} judged by {spec}, {speaker}, with up to {judging.shown} "
        "scored examples per topic."
    )
    report.disclaim(tables.header)
    report.note(warning(checked), doubt(checked), UNCHECKED if checked.empty else None)
    reasons = count_table(reason for noted in verdicts["reasons"] for reason in str(noted).split(", ") if reason)
    lacking = int(verdicts["score"].isna().sum())
    report.missing(
        lacking, len(verdicts), "statements have no score", f"unreadable replies: {reasons}" if reasons else ""
    )
    report.lines(f"- {load_topic(slug).heading}: {load_topic(slug).claim}" for slug in verdicts["topic"].unique())
    report.section("Scores", "Mean score (1-7, 7: agrees strongly with the claim) of the first and the last statement.")
    ends = first_and_last(verdicts, tables.names)
    report.figure(_figure(ends, spec), "judge", "Mean scores of the first and the last statement")
    report.table(ends, {name: name for name in ends})
    if len(checked):
        share = checked["statements"].sum() / max(len(verdicts), 1)
        compared = (
            "The table compares the judge's scores with known true scores. Only sentences of the speakers oracle and pocket "
            f"have a known true score ({share:.0%} of the statements)."
        )
        report.section("How good is the judge?", compared)
        report.table(checked, _columns("against the grade"))
        report.add("The table counts statements by true score (rows) and judge's score (columns), both rounded.")
        report.add(confusion_table(confusion(verdicts)))
    if len(agreement):
        report.section("Scores compared with agents' own ratings", THEMSELVES)
        report.table(agreement, _columns("against self-report"))
    _add_corrected(report, verdicts, tables)
    _add_gaps(report, verdicts, tables)
    return report.write()


def _add_corrected(report: Report, verdicts: pd.DataFrame, tables: Tables) -> None:
    """Add the correlations with known grades and with private ratings without the judge's error."""
    by_grade = corrected_rows(verdicts.assign(truth=truth(verdicts)), "truth", "known true scores")
    by_rating = corrected_rows(with_own_ratings(verdicts, tables.attitudes), "own", "private ratings")
    if lines := [*by_grade[1], *by_rating[1]]:
        report.section("Without the judge's measurement error", ABOUT)
        report.data(corrected=pd.DataFrame([*by_grade[0], *by_rating[0]]))
        report.lines(f"- {line}" for line in lines)


def _add_gaps(report: Report, verdicts: pd.DataFrame, tables: Tables) -> None:
    """Add how far lines are from private ratings, on topics whose survey asks what the judge scores; none without such a topic.

    The floor of the judge comes from the lines of known grade in the run.
    """
    probe = str(tables.header.scenario["probe"])
    comparable_verdicts = verdicts[[comparable(str(topic), probe) for topic in verdicts["topic"]]]
    if comparable_verdicts.empty:
        return
    graded = comparable_verdicts.assign(
        grade=on_axis(truth(comparable_verdicts), comparable_verdicts["topic"]),
        scored=on_axis(comparable_verdicts["score"], comparable_verdicts["topic"]),
    )
    graders = {
        str(topic): calibrate(topic_lines["grade"].to_numpy(dtype=float), topic_lines["scored"].to_numpy(dtype=float))
        for topic, topic_lines in graded.groupby("topic", sort=False)
    }
    grades = graded[["room", "iteration"]].assign(grade=graded["scored"])
    lines = line_gaps(tables, grades, graders, UNKNOWN)
    parts = lines[lines["topic"].isin(list(graders))].groupby(["topic", "group"], sort=False)
    titled = [(topic, group_title(str(group), tables.names), group_lines) for (topic, group), group_lines in parts]
    rows = [{"topic": topic, "group": group, **gap_row(group_lines, graders)} for topic, group, group_lines in titled]
    report.data(gaps=pd.DataFrame(rows))
    report.section("Public replies and private ratings", GAPS)
    report.table(pd.DataFrame(rows), GAP_COLUMNS)


def first_and_last(verdicts: pd.DataFrame, parties: PartyNames) -> pd.DataFrame:
    """One row per topic, group and seat: mean score of the first and the last statement, and the rooms."""
    rows = []
    for (topic, group, seat), seat_verdicts in verdicts.groupby(["topic", "group", "seat"], sort=False):
        means = seat_verdicts.groupby("statement")["score"].mean()
        names = {"group": group_title(str(group), parties), "seat": seat_title(str(seat), parties)}
        ends = {"first": means.iloc[0], "last": means.iloc[-1], "rooms": seat_verdicts["room"].nunique()}
        rows.append({"topic": load_topic(str(topic)).heading} | names | ends)
    return pd.DataFrame(rows)


def _figure(ends: pd.DataFrame, spec: str) -> Figure:
    """One line per topic, group and seat, from the first score (hollow) to the last (filled)."""
    rows = [fill(", ".join(row), 44) for row in ends[["topic", "group", "seat"]].to_numpy().tolist()]
    caption = f"Judged by {disclaimers.spec_label(spec)}. Hollow points: first statement; filled points: last statement"
    with new_figure(5.2, 0.3 * len(ends) + 1.1, caption) as drawn:
        axis, places = drawn.subplots(), range(len(ends))[::-1]
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


def confusion_table(counts: pd.DataFrame) -> str:
    """The counts of `confusion` as a Markdown table."""
    rows = [[str(point), *map(str, row)] for point, row in zip(counts.index, counts.to_numpy(), strict=True)]
    return markdown_table(["", *map(str, counts.columns)], rows)
