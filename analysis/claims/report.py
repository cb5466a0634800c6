"""The report on a claim: the sentence, the curve, on what the effect depends, and where its variance comes from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.analysis.claims.audit import Audit
from parley.analysis.claims.figure import curve_figure
from parley.analysis.claims.multiverse import SEEDS
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
    "A specification is one choice of every setting under “What was varied”. Its effect is the mean of its differences. The unit "
    "of the test is a group of people, because two debates of the same people are not independent. "
)
SWAPPED = (
    "The test swaps the two arms for a random half of the groups, in all specifications at once, 1,999 times. p is the share of "
    "these swaps whose median effect is as large as the real one. p is for these topics and models."
)
ALIKE = (
    "p is that of an equivalence test (two one-sided t-tests over the mean effects of groups) of an average effect within the "
    "bound. p is for these topics and models."
)
SETTINGS = (
    "Each setting is meant to leave the meaning as it is. A share of 0.25 means that the main effect of the setting is a quarter "
    "of the variance between single differences (one topic, one group of people, one specification; chance is in it). "
    "It is tested against the variance between specifications that no main effect explains, and p is corrected for the number of "
    "settings (Holm). The interval of a share begins at 0 where p (before that correction) is .05 or more. Two "
    "settings that matter only together are not found here: they are in the row `specification` of the next table."
)
PARTS_NOTE = (
    "Topics, people and all other sources are crossed random effects. REML: restricted maximum likelihood, as shares of the sum. "
    "Bayes: a hierarchical model with half-t priors; the share of these levels in the variance, with the central 95% interval. "
    "`specification` is what is common to all differences of a specification and no single setting explains."
)
TOPICS = (
    "Mean effect: over all differences of the topic. Pooled (with two topics or more): the effect of each topic in the "
    "hierarchical model, drawn toward the average as far as the differences between topics look like chance, with 95% interval."
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
    _add_compared(report, audit)
    _add_missing(report, audit)
    report.section("The specification curve", CURVE + (ALIKE if claim.expected == "equivalent" else SWAPPED))
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


def _add_compared(report: Report, audit: Audit) -> None:
    """Add what was compared: arms, outcome, people, topics, models, and how many differences there are."""
    multiverse, claim, size = audit.multiverse, audit.multiverse.claim, len(audit.multiverse.design)
    people, groups = claim.population, len(audit.curve.units)
    arms = [", ".join(pairs) or "as the scenario" for pairs in (claim.contrast.first, claim.contrast.second)]
    first = SEEDS * multiverse.seed
    swapped = claim.expected != "equivalent" and 0 < groups < 10
    smallest = f"; with {groups} groups p cannot be below {format_number(0.5**groups, 3)}" if swapped else ""
    report.section("What was compared")
    lines = (
        f"Arms: {arms[0]} (first) and {arms[1]} (second), both in the scenario {claim.scenario} "
        f"with {', '.join(claim.settings) or 'its own settings'}. Both arms of a specification have the same seed.",
        f"Outcome: {claim.measure.label}, {claim.measure.about}. The effect is the first arm minus the second. "
        f"Expected: {claim.expected}. Smallest effect of interest: {format_number(claim.smallest)}.",
        f"Models: {', '.join(people.models)}. Topics: {', '.join(people.topics)}. "
        f"Sets of personas: {', '.join(people.personas)}. Societies: {', '.join(people.societies)}.",
        f"Units: {count_phrase(groups, 'different group')} of people ({count_phrase(multiverse.repetitions, 'repetition')} in "
        f"each set of personas; in a small set the same people sit again){smallest}.",
        f"Differences: {len(audit.differences):,}, one for each specification ({size}), topic ({len(people.topics)}) and "
        f"repetition ({multiverse.repetitions}). Missing: {int(audit.differences['difference'].isna().sum()):,}. "
        f"Each specification has one set of personas and one seed, {first} to {first + size - 1}.",
    )
    report.lines(f"- {escape_markdown(line)}" for line in lines)


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
    topics = "for topics like these" if "topic" in set(audit.parts["source"]) else "for this topic"
    report.add(
        f"The average effect in the hierarchical model, {topics} and with these people and specifications, is {middle} ({low} to "
        f"{high})."
    )


def _add_design(report: Report, audit: Audit) -> None:
    """Add what was varied, what was left out, and how the specifications were chosen."""
    multiverse = audit.multiverse
    size = count_phrase(len(multiverse.design), "specification")
    report.section(
        "What was varied",
        f"{size} with both arms. Every specification has a seed of its own: chance is in the row `residual`. Each "
        "level comes equally often (within one). The largest correlation between two "
        f"settings is {format_number(multiverse.confounding, 3)}.",
    )
    report.table(
        [[one.name, one.family, ", ".join(one.levels)] for one in multiverse.dimensions], ["setting", "kind", "levels"]
    )
    if multiverse.left_out:
        report.add("Left out:")
        report.lines(f"- {escape_markdown(name)}: {escape_markdown(why)}" for name, why in multiverse.left_out.items())
