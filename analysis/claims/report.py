"""The report on a claim: the sentence, the curve, on what the effect depends, and where its variance comes from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.analysis.claims.audit import Audit
from parley.analysis.claims.figure import curve_figure
from parley.analysis.claims.verdict import generality, verdict
from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    escape_markdown,
    estimate,
    format_number,
    format_p,
    number,
)
from parley.analysis.html_report import write as write_html
from parley.analysis.report import Report

NAME = "claim"
CURVE = (
    "The effect is the first arm minus the second, on equal seeds. The unit is a group of people. p says how often the median "
    "over all specifications is as large if the two arms are swapped for a random half of the groups, on all topics and in all "
    "specifications at once. p is for these topics and models."
)
SETTINGS = (
    "Each setting is meant to leave the meaning as it is. Its share is that of its main effect in the variance between single "
    "differences. It is tested against the variance between specifications that no main effect explains, and p is corrected for "
    "the number of settings (Holm). The interval of a share begins at 0 where p (before that correction) is .05 or more. Two "
    "settings that matter only together are not found here: they are in the row `specification` of the next table."
)
PARTS_NOTE = (
    "Topics, people and all other sources are crossed random effects. REML: restricted maximum likelihood, as shares of the sum. "
    "Bayes: a hierarchical model with half-t priors; the share of these levels in the variance, with the central 95% interval. "
    "`specification` is what is common to all differences of a specification and no single setting explains."
)
TOPICS = (
    "Pooled: the effect of each topic in the hierarchical model, drawn toward the average as far as the differences between "
    "topics look like chance, with its 95% interval."
)
LIMITS = (
    "The audit covers the settings, topics, people and models named here, and no others. It does not ask whether agents behave "
    "like people. A share near 0 can hide a setting that raises the effect on one topic and lowers it on another. Parley chose "
    "the settings; they are no sample of all that mean the same."
)
SETTING_COLUMNS: Mapping[str, Column] = {
    "setting": "setting",
    "kind": "family",
    "mean effect at each level": lambda row: ", ".join(f"{k}: {format_number(v)}" for k, v in row["means"].items()),
    "share of variance": estimate("share", 3),
    "p (Holm)": lambda row: format_p(row["p_holm"]),
    "reason if missing": "reason",
}
PART_COLUMNS: Mapping[str, Column] = {
    "source": "source", "levels": "levels", "REML": number("share", 3), "Bayes": estimate("posterior", 3),
}  # fmt: skip
TOPIC_COLUMNS: Mapping[str, Column] = {
    "topic": "topic", "differences": "differences", "mean effect": number("effect"), "pooled": estimate("pooled"),
}  # fmt: skip


def write_claim(audit: Audit, folder: Path, *notes: str) -> Path:
    """Write claim.md, claim.html, the figure and the tables; return the path of the HTML page. notes: such as unfinished runs."""
    claim, curve = audit.multiverse.claim, audit.curve
    report = Report(folder, NAME, "A claim over many specifications")
    tables: dict[str, Any] = {
        "differences": audit.differences, "curve": curve.effects, "variance": audit.parts, "topics": audit.topics,
        "settings": audit.settings.assign(means=audit.settings["means"].map(_means_text)),
    }  # fmt: skip
    report.data(**tables)
    report.plain(f"“{claim.claim}”")
    report.add(f"**{verdict(claim, curve, audit.settings, audit.together)}**")
    report.lines(f"- {line}" for line in generality(claim, audit.differences))
    report.add(*notes)
    report.disclaim_models(*claim.population.models)
    _add_missing(report, audit)
    report.section("The specification curve", CURVE)
    if len(curve.effects):
        report.figure(curve_figure(audit), NAME, "Effect of each specification, and its settings")
    report.section("Settings that mean the same", SETTINGS)
    report.table(audit.settings, SETTING_COLUMNS)
    _add_variance(report, audit)
    _add_design(report, audit)
    report.section("What this does not show", LIMITS)
    report.write()
    return write_html([folder], folder / f"{NAME}.html")


def _means_text(means: Mapping[str, float]) -> str:
    return "; ".join(f"{level}: {value:.4f}" for level, value in means.items())


def _add_missing(report: Report, audit: Audit) -> None:
    lost = audit.differences[audit.differences["difference"].isna()]
    if len(lost):
        report.missing(len(lost), len(audit.differences), "differences are missing", count_table(lost["reason"]))


def _add_variance(report: Report, audit: Audit) -> None:
    report.section("Where differences between effects come from", PARTS_NOTE)
    if audit.parts.empty:
        report.add("The split of the variance is unknown: all differences are equal.")
        return
    report.table(audit.parts, PART_COLUMNS)
    report.section("Topics", TOPICS)
    report.table(audit.topics, TOPIC_COLUMNS)
    middle, low, high = map(format_number, audit.average)
    report.add(
        f"The average effect in the hierarchical model, for topics and people like these, is {middle} ({low} to {high})."
    )


def _add_design(report: Report, audit: Audit) -> None:
    """Add what was varied, what was left out, and how the specifications were chosen."""
    multiverse = audit.multiverse
    counts = count_phrase(len(multiverse.design), "specification"), count_phrase(multiverse.repetitions, "group")
    report.section(
        "What was varied",
        f"{counts[0]} with both arms, and {counts[1]} of people for each topic. Every specification has a seed of its own: "
        "chance is in the row `residual`. Each level comes equally often (within one). The largest correlation between two "
        f"settings is {format_number(multiverse.confounding, 3)}.",
    )
    report.table(
        [[one.name, one.family, ", ".join(one.levels)] for one in multiverse.dimensions], ["setting", "kind", "levels"]
    )
    if multiverse.left_out:
        report.add("Left out:")
        report.lines(f"- {escape_markdown(name)}: {escape_markdown(why)}" for name, why in multiverse.left_out.items())
    claim = multiverse.claim
    arms = [", ".join(pairs) or "as the scenario" for pairs in (claim.contrast.first, claim.contrast.second)]
    report.plain(
        f"Scenario {claim.scenario} ({', '.join(claim.settings) or 'no settings'}); first arm: {arms[0]}; second arm: {arms[1]}; "
        f"outcome: {claim.measure.label}; expected: {claim.expected}; smallest effect of interest: "
        f"{format_number(claim.smallest)}."
    )
