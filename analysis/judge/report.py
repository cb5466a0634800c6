"""What a judge said of a run, and how far it can be believed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.formatting import (
    count_phrase,
    count_table,
    format_estimate,
    format_number,
    group_title,
    markdown_table,
)
from parley.analysis.judge.judging import Judging, claim
from parley.analysis.judge.quality import QUALITY, against_themselves, against_truth, confusion, warning
from parley.analysis.tables import Tables

UNCHECKED = (
    "**Unchecked**: no statement of this run has a grade that is known beforehand. Judge a run of `--llm oracle` with the same "
    "judge to see how well it reads."
)


def write(verdicts: pd.DataFrame, tables: Tables, folder: Path, spec: str, judging: Judging) -> Path:
    """Write judge.md, and quality and agreement as CSV; the path of the first."""
    checked, own = against_truth(verdicts), against_themselves(verdicts, tables.attitudes)
    checked.to_csv(folder / QUALITY, index=False)
    own.to_csv(folder / "agreement.csv", index=False)
    path = folder / "judge.md"
    parts = _parts(verdicts, tables, checked, own, spec, judging)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _parts(
    verdicts: pd.DataFrame, tables: Tables, checked: pd.DataFrame, own: pd.DataFrame, spec: str, judging: Judging
) -> Iterator[str]:
    unread = verdicts["score"].isna()
    told = f"told {', '.join(judging.told)}" if judging.told else "told neither name nor party"
    yield "# Statements before a judge"
    yield f"{count_phrase(len(verdicts), 'statement')} judged by {spec}, {told}, up to {judging.shown} examples a topic."
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}"
    if told := warning(checked):
        yield f"> {told}"
    if checked.empty:
        yield f"> {UNCHECKED}"
    reasons = count_table(reason for noted in verdicts["reasons"] for reason in str(noted).split(", ") if reason)
    yield f"{int(unread.sum())} of {len(verdicts):,} have no score{f' (replies not read: {reasons})' if reasons else ''}."
    yield "\n".join(f"- {load_topic(slug).heading}: {claim(load_topic(slug))}" for slug in verdicts["topic"].unique())
    yield "## Scores\n\nMean score (1-7, 7: agrees strongly with the claim) of the first and the last statement."
    yield _scores(verdicts)
    if len(checked):
        yield "## How good is the judge?"
        share = checked["statements"].sum() / max(len(verdicts), 1)
        yield f"Compared with the known grades of our own speakers' sentences ({share:.0%} of the statements)."
        yield _table(checked, "against the grade")
        yield "Statements by true score (rows) and score given (columns), both rounded."
        yield confusion_table(confusion(verdicts))
    if len(own):
        yield "## Compared with what agents say of themselves"
        yield (
            "The hidden rating of the same agent after the same round. Where agents were asked for something else than agreement "
            "with the claim (such as the severity of a problem), there are ranks alone: a difference of the two is no number."
        )
        yield _table(own, "against self-report")


def _scores(verdicts: pd.DataFrame) -> str:
    rows = []
    for (topic, group, seat), part in verdicts.groupby(["topic", "group", "seat"], sort=False):
        means = part.groupby("statement")["score"].mean()
        rows.append(
            [load_topic(str(topic)).heading, group_title(str(group)), str(seat).title(), format_number(float(means.iloc[0])),
             format_number(float(means.iloc[-1])), str(part["room"].nunique())]
        )  # fmt: skip
    return markdown_table(["topic", "group", "seat", "first", "last", "rooms"], rows)


def _table(found: pd.DataFrame, against: str) -> str:
    rows = [
        [load_topic(row["topic"]).heading, str(row["statements"]), str(row["rooms"]),
         row["reason"] or format_estimate(row["r"], row["r_low"], row["r_high"]),
         format_estimate(row["bias"], row["bias_low"], row["bias_high"]),
         format_number(row["error"])]
        for row in found.to_dict("records")
    ]  # fmt: skip
    return markdown_table(
        ["topic", "statements", "rooms", f"rank correlation {against}", "score minus it", "mean distance"], rows
    )


def confusion_table(found: pd.DataFrame) -> str:
    rows = [[str(point), *map(str, row)] for point, row in zip(found.index, found.to_numpy(), strict=True)]
    return markdown_table(["", *map(str, found.columns)], rows)
