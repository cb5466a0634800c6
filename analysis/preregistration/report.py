"""The report of `run.py confirm`: the stamp, the sentence, the looks and the units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from parley.analysis.formatting import Column, count_table, escape_markdown, format_number, number
from parley.analysis.html_report import write as write_html
from parley.analysis.preregistration.registration import Registration
from parley.analysis.preregistration.verdict import Look, claim_sentence
from parley.analysis.report import Report

NAME = "confirmation"
COLUMNS: Mapping[str, Column] = {
    "units": "units", "left out": "excluded", "mean effect": number("mean"), "low": number("low"), "high": number("high"),
    "p": number("p", 4), "reason if unknown": "reason",
}  # fmt: skip
LIMITS = (
    "The hash shows that the file is as it was registered if the hash was published at that time: who has the file can register "
    "another one. Dates of files and the list of seen results can be changed as well. The result is for these topics, this set "
    "of people and this model."
)


def write_confirmation(
    plan: Registration,
    looks: Sequence[Look],
    differences: pd.DataFrame,
    model: str,
    reasons: Sequence[str],
    folder: Path,
) -> Path:
    """Write confirmation.md, .html and the tables; return the path of the HTML page. reasons: why it is exploratory."""
    report = Report(folder, NAME, "The test of a registered claim")
    rows = [{**vars(one), "units": one.planned, "excluded": int(one.units["excluded"].sum())} for one in looks]
    table = pd.DataFrame(rows).drop(columns="planned")
    report.data(looks=table, units=looks[-1].units, differences=differences.assign(**plan.claim.compared))
    report.add(f"**{stamp_text(reasons)}**")
    report.plain(f"“{plan.claim.claim}”")
    report.add(f"**{claim_sentence(plan.claim, looks, plan.level)}**")
    report.disclaim_models(model)
    lost = differences[differences["difference"].isna()]
    if len(lost):
        report.missing(len(lost), len(differences), "differences are missing", count_table(lost["reason"]))
    report.section(
        "Looks", "The test stops at the first look whose p is below the level. Ends: 95% interval, Student's t."
    )
    report.table(table, COLUMNS)
    report.section("What was registered")
    report.lines(f"- {escape_markdown(line)}" for line in plan_lines(plan))
    report.section("What this does not show", LIMITS)
    report.write()
    return write_html([folder], folder / f"{NAME}.html")


def stamp_text(reasons: Sequence[str]) -> str:
    """Return the stamp: confirmatory, or exploratory with the reasons."""
    return f"exploratory: {'; '.join(reasons)}" if reasons else "confirmatory"


def plan_lines(plan: Registration) -> list[str]:
    """Return the plan in words, a line for each part."""
    claim = plan.claim
    return [
        f"registered: {plan.registered.isoformat()}, hash {plan.code}",
        f"units (seeds): {', '.join(map(str, plan.looks))}, from seed {plan.seed}; level of each test {plan.level:.3g}",
        f"outcome: {claim.measure.label}, expected: {claim.expected}, smallest effect of interest: "
        f"{format_number(claim.smallest)}",
        f"left out: units with more than {100 * plan.missing:g}% of topics without a number",
        f"models: {', '.join(plan.models)}; topics: {', '.join(claim.population.topics)}",
    ]
