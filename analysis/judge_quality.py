"""How good is a judge? Beside the known-truth speaker's own grades, and beside what agents say of themselves.

A grade is known for every statement made of sentences of the oracle's banks: all of the oracle's, most of the model in the box's,
none of other models'. Where none is known the judge is unchecked, and the report says so. Where a judge is bad (`faults`), every
report that rests on it says so in its first lines.

What a judge said of a run, and how far it can be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import rankdata

from parley.agents.topic import load_topic, scales
from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, correlation, correlation_interval, mean_interval
from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, group_title, markdown_table
from parley.analysis.report import Report
from parley.analysis.statement_judge import SCALE, Judging
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topics

QUALITY = "quality.csv"
FEWEST = 10
"""Statements below which no correlation is told."""
LEAST_R, MOST_BIAS = 0.7, 0.5
"""A judge is not to be used on a topic where its rank correlation with known grades is below the first, or where its scores are
off by as many points (of 1-7) as the second on average.
"""
FEW, ONE_SCORE, ONE_OTHER = "too few statements", "one score for all statements", "all statements are alike"
"""Why there is no correlation."""


def against_truth(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a topic: statements (with score and grade), rank correlation (NaN with a reason), bias (score minus truth, points
    of 1-7), error (mean absolute), each of the first two with its 95% interval over rooms.
    """
    known = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    return _by_topic(known, "truth")


def against_themselves(verdicts: pd.DataFrame, attitudes: pd.DataFrame) -> pd.DataFrame:
    """The same, compared with the hidden self-report of the same agent after the same round, on the judge's scale.

    Where agents were asked for something else than agreement with the claim (`comparable`), there are ranks alone: bias and error
    are NaN, since agreement with a claim minus the severity of a problem is no number.
    """
    own = attitudes[["room", "agent", "round", "probe", "attitude"]]
    both = verdicts.merge(own, on=["room", "agent", "round"], how="inner")
    both["own"] = _on_scale(both["attitude"], both["topic"])
    found = _by_topic(both.dropna(subset=["score", "own"]), "own")
    asked = both.drop_duplicates("topic").set_index("topic")["probe"]
    other = [not comparable(str(topic), str(asked[topic])) for topic in found["topic"]]
    found.loc[other, ["bias", "bias_low", "bias_high", "error"]] = np.nan
    return found


def comparable(topic: str, probe: str) -> bool:
    """Whether a survey question asks for what a judge scores: agreement with the topic's claim."""
    known = load_topic(topic)
    return known.probe(probe).construct == known.probe("agreement").construct


def faults(checked: pd.DataFrame) -> dict[str, str]:
    """By topic why a judge is not to be used there, of the rows of `against_truth`; a topic without a fault is left out."""
    found = {str(row["topic"]): _fault(row) for row in checked.to_dict("records")}
    return {topic: fault for topic, fault in found.items() if fault}


def _fault(row: dict[str, Any]) -> str:
    """A topic with too few statements has no fault, and no proof of quality either."""
    told = []
    if row["reason"] == ONE_SCORE:
        told.append("it gives all statements one score")
    elif row["r"] < LEAST_R:
        told.append(f"its rank correlation with known grades is {row['r']:.2f}, below {LEAST_R}")
    if row["statements"] >= FEWEST and abs(row["bias"]) >= MOST_BIAS:
        told.append(
            f"its scores are {abs(row['bias']):.2f} points too {'high' if row['bias'] > 0 else 'low'} on average"
        )
    return " and ".join(told)


def warning(checked: pd.DataFrame) -> str:
    """For the first lines of a report that rests on the scores of a judge; "" where it has no fault."""
    if not (found := faults(checked)):
        return ""
    named = "; ".join(f"on {load_topic(topic).title} {fault}" for topic, fault in found.items())
    return (
        f"**Do not use this judge's scores**: {named}. Estimates and tests that rest on these scores measure the judge."
    )


def truth(verdicts: pd.DataFrame) -> pd.Series:
    """The grade of each statement, on the judge's scale; NaN where none of its sentences is known."""
    banks = {slug: topics().get(load_topic(str(slug)).root) for slug in verdicts["topic"].unique()}
    grades = [
        bank.grade(str(text)) if (bank := banks[slug]) else None
        for slug, text in zip(verdicts["topic"], verdicts["text"], strict=True)
    ]
    return _on_scale(pd.Series(grades, index=verdicts.index, dtype=float), verdicts["topic"])


def warning_of(folder: Path) -> str:
    """The same for the scores of `run.py judge`, by the quality.csv that it wrote into the folder; "" where there is none."""
    path = folder / QUALITY
    if not path.is_file():
        return ""
    found = pd.read_csv(path, converters={"reason": str})
    lacking = {"topic", "statements", "r", "reason", "bias"} - set(found.columns)
    return "" if lacking else warning(found)


def confusion(verdicts: pd.DataFrame) -> pd.DataFrame:
    """How many statements of each true score (rows, 1-7, rounded) got which score (columns, 1-7, rounded)."""
    scale = scales()[SCALE]
    known = verdicts.assign(truth=truth(verdicts)).dropna(subset=["score", "truth"])
    rounded = [known[name].round().astype("int64").rename(name) for name in ("truth", "score")]
    found = pd.crosstab(*rounded) if len(known) else pd.DataFrame(dtype="int64")
    points = pd.Index(scale.points)
    return found.reindex(index=points.rename("truth"), columns=points.rename("score"), fill_value=0)


def on_axis(scores: pd.Series, topics_: pd.Series) -> pd.Series:
    """Scores of 1-7 on the claim as 0-10 on the axis of their topics."""
    return _turned(scales()[SCALE].attitude, scores, topics_)


def _on_scale(attitudes: pd.Series, topics_: pd.Series) -> pd.Series:
    """0-10 on the axis of their topics as 1-7 on the claim."""
    return _turned(scales()[SCALE].rating, attitudes, topics_)


def _turned(way: Callable[[float, int], float], values: pd.Series, topics_: pd.Series) -> pd.Series:
    """Each value the one way or the other between scale and axis, by the polarity of its topic's claim."""
    sides = [load_topic(str(slug)).probe("agreement").polarity for slug in topics_]
    turned = [way(value, side) for value, side in zip(values.astype(float), sides, strict=True)]
    return pd.Series(turned, index=values.index, dtype=float)


def _by_topic(known: pd.DataFrame, other: str) -> pd.DataFrame:
    rows = [_row(str(topic), part, other) for topic, part in known.groupby("topic", sort=False)]
    columns = ["topic", "statements", "rooms", *_spanned("r"), "reason", *_spanned("bias"), "error"]
    return pd.DataFrame(rows, columns=columns)


def _row(topic: str, part: pd.DataFrame, other: str) -> dict[str, Any]:
    gaps = part["score"] - part[other]
    row: dict[str, Any] = {"topic": topic, "statements": len(part), "rooms": part["room"].nunique()}
    row |= {"bias": float(gaps.mean()), "error": float(gaps.abs().mean())}
    row |= dict(
        zip(
            ("bias_low", "bias_high"),
            mean_interval(gaps.groupby(part["room"]).mean().to_numpy()),
            strict=True,
        )
    )
    row["reason"] = _alike(part, other)
    if not row["reason"]:
        sums = _sums(part, other)
        ends = correlation_interval(sums)
        row |= dict(zip(_spanned("r"), (float(correlation(sums.sum(axis=0))), *ends), strict=True))
    return row


def _alike(part: pd.DataFrame, other: str) -> str:
    """Why there is no correlation of the scores; "" where there is one."""
    if len(part) < FEWEST:
        return FEW
    if part[other].nunique() < 2:
        return ONE_OTHER
    return ONE_SCORE if part["score"].nunique() < 2 else ""


def _sums(part: pd.DataFrame, other: str) -> Floats:
    """(rooms, 6): what a correlation of ranks (over all statements) is made of, room by room."""
    x, y = rankdata(part["score"]), rankdata(part[other])
    terms = pd.DataFrame(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]))
    sums: Floats = terms.groupby(part["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    return sums


def _spanned(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]


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
