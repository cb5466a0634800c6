"""The report on a claim: the sentence, the curve, on what the effect depends, and where its variance comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis.figures import ESTIMATE, TWO_COLUMNS, draw_null, draw_points, new_figure
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
from parley.analysis.qualify.before_run import not_playing
from parley.analysis.report import Report
from parley.model.titles import join_phrases
from parley.studies.claims.audit import Audit
from parley.studies.claims.claim import Claim
from parley.studies.claims.context import about_bound, at_the_start, generality, noise_left, unevenly_missing
from parley.studies.claims.curve import EXACT, FEWEST_TOPICS, Curve, start_gap, whole_specifications
from parley.studies.claims.multiverse import ARMS, SEEDS, SPECIFICATION
from parley.studies.claims.variance import ALPHA, RESIDUAL
from parley.studies.claims.verdict import EXPECTED, verdict, withheld

AGAINST, MATTERS = "#d55e00", "#7a3b9c"
ROW = 0.115
"""Height of a row of the matrix, in inches."""
NOTE = (
    "Each column is a specification of the settings. The upper panel shows the mean difference of each specification, with a "
    "95% interval of the same width for all specifications. {colours}. The dashed line marks the smallest effect of interest. "
    "The lower panel shows the value of each setting in a specification, in purple if the effect depends on the setting{line}"
)
SIDES = (
    "A blue circle is an effect on the side that the claim expects, and an orange square an effect on the opposite side"
)
BOUND = "A blue circle is an effect within the bound of the claim, and an orange square an effect beyond the bound"
LINE = ". The claim should not depend on the settings above the thick line"


def curve_figure(audit: Audit) -> Figure:
    """Draw the curve of an audit."""
    rows = sum(len(dimension.levels) for dimension in audit.multiverse.dimensions)
    colours = BOUND if audit.multiverse.claim.expected == "equivalent" else SIDES
    line = LINE if not all(dimension.meant for dimension in audit.multiverse.dimensions) else ""
    note = NOTE.format(colours=colours, line=line)
    with new_figure(TWO_COLUMNS, 2.0 + ROW * rows, note, title=audit.multiverse.claim.claim) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, max(ROW * rows, 0.3)])
        _draw_effects(above, audit)
        _draw_levels(below, audit)
    return figure


def _draw_effects(axis: Axes, audit: Audit) -> None:
    effects, claim = audit.curve.effects, audit.multiverse.claim
    places, values = np.arange(len(effects)), effects["effect"].to_numpy(dtype=float)
    expected = np.array([claim.favours(value) for value in values], dtype=bool)
    looks: list[dict[str, Any]] = [
        {"fmt": "o", "color": ESTIMATE, "markersize": 3},
        {"fmt": "s", "color": AGAINST, "markersize": 3, "fillstyle": "none"},
    ]
    for chosen, look in zip((expected, ~expected), looks, strict=True):
        draw_points(axis, places[chosen], effects[chosen], "effect", upright=True, elinewidth=0.6, capsize=0, **look)
    draw_null(axis)
    bounds = {"greater": (1,), "less": (-1,), "equivalent": (-1, 1)}[claim.expected]
    for side in bounds:
        axis.axhline(side * claim.smallest, color="#999999", linewidth=0.6, linestyle=(0, (4, 3)))
    where = EXPECTED[claim.expected]
    axis.set_ylabel(f"{claim.measure.title},\nfirst minus second condition\n(expected: {where})", fontsize=7)
    axis.tick_params(bottom=False)


def _draw_levels(axis: Axes, audit: Audit) -> None:
    """Draw a mark for the level that each specification has of each dimension, and a line before the population."""
    order = audit.curve.effects[SPECIFICATION]
    levels = audit.multiverse.levels.loc[order]
    matters = set(audit.settings.loc[audit.settings["p_holm"] < ALPHA, "setting"])
    names, row = [], 0
    for dimension in audit.multiverse.dimensions:
        for level in dimension.levels:
            at = np.flatnonzero(levels[dimension.name].to_numpy() == level)
            colour = MATTERS if dimension.name in matters else "#333333"
            axis.plot(at, np.full(len(at), row), linestyle="none", marker="|", markersize=4, color=colour)
            names.append(f"{dimension.name}: {level}")
            row += 1
        axis.axhline(row - 0.5, color="#dddddd", linewidth=0.4)
    meant = sum(len(dimension.levels) for dimension in audit.multiverse.dimensions if dimension.meant)
    if meant < row:
        axis.axhline(meant - 0.5, color="#333333", linewidth=1.0)
    axis.set_yticks(range(row), names, fontsize=5.5)
    for label in axis.get_yticklabels():
        if label.get_text().rpartition(": ")[0] in matters:
            label.set_color(MATTERS)
    axis.set_ylim(row - 0.4, -0.6)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(order)} specifications, by effect")


NAME = "claim"
CURVE = (
    "A specification is one choice of every setting under “What was varied”. The effect of a specification is the mean of its "
    "differences. The unit of the test is a separate group of people, because debates of the same people on two topics are "
    "not independent. Groups that share a person count as one. "
)
SWAPPED = (
    "The test swaps the two conditions for some of the groups, in all specifications at once. With up to 10 groups the test "
    "tries all possible swaps, and with more groups 1,999 random swaps. p (one-sided) is the share of swaps whose median effect "
    "is at least as far on the expected side as the real median effect. p describes only the topics and models of this audit."
)
ALIKE = (
    "p comes from an equivalence test of whether the average effect is within the bound (two one-sided t-tests over the mean "
    "effects of groups). p describes only the topics and models of this audit."
)
INTERVALS = (
    "All 95% intervals of specifications have the same width, and the test does not use these intervals. The width follows from "
    "the variance that remains after the mean of each topic and group of people is subtracted. So a specification whose "
    "differences vary more by chance looks too certain."
)
SETTINGS = (
    "The settings in the table should not matter for the claim. `share of variance` says how much of the variance between "
    "differences the setting explains; 0.25 is a quarter. Each difference belongs to one topic, one group of people and one "
    "specification. The column `p` tests the setting against the remaining variance between specifications; `p (Holm)` is "
    "corrected for the number of settings. The interval of a share begins at 0 if the uncorrected p is .05 or more. The column "
    "`p` takes the other settings into account, but the columns of mean effects do not. The effect of two settings that matter "
    "only together is in the row `specification` of the next table. The columns `p` and `p (Holm)` hold for the people of this "
    "study. The column `p (people)` tests whether the effect depends on the setting for other people too."
)
PARTS_NOTE = (
    "The next table divides the variance by a model of crossed random effects. The column *REML* has the share by restricted "
    "maximum likelihood, and is unreliable for a setting with two values. The column *Bayes* has the share by a hierarchical "
    "model with half-t priors, with 95% intervals, for the values of settings in this audit. The row `topic and people "
    "together` has the variance that is particular to a group on a topic, in all specifications. The row `specification` has "
    "the variance between specifications that no single setting explains. The row `residual` has the variance that no other row "
    "explains."
)
TOPICS = (
    "The mean effect of a topic is the mean over all its differences. The pooled effect is the effect of the topic in the "
    "hierarchical model, shrunk toward the mean of all topics, with a 95% interval."
)
LIMITS = (
    "The audit covers only the settings, topics, people and models that this report names. The audit does not ask whether "
    "agents behave like people. A setting with a share near 0 can still raise the effect on one topic and lower the effect on "
    "another topic. Parley chose the settings, so they are no random sample of all settings that should not matter."
)
SETTING_COLUMNS: Mapping[str, Column] = {
    "setting": "setting",
    "kind": "family",
    "mean effect at each value": lambda row: ", ".join(f"{k}: {format_number(v)}" for k, v in row["means"].items()),
    "share of variance": estimate("share", 3),
    "p": lambda row: format_p(row["p"]),
    "p (Holm)": lambda row: format_p(row["p_holm"]),
    "p (people)": lambda row: format_p(row["p_people"]),
}
PART_COLUMNS: Mapping[str, Column] = {
    "source": "source",
    "levels": lambda row: "" if row["source"] == RESIDUAL else str(row["levels"]),
    "REML": number("share", 3),
    "Bayes": estimate("posterior", 3),
}
TOPIC_COLUMNS: Mapping[str, Column] = {
    "topic": "topic", "differences": "differences", "mean effect": number("effect"), "pooled": estimate("pooled"),
}  # fmt: skip


def write_claim(audit: Audit, folder: Path, *notes: str, checked: Path | None = None) -> Path:
    """Write claim.md, claim.html, the figure and the tables; return the path of the HTML page. notes: such as unfinished runs.

    checked: the folder of the runs, if it is another one; the verdict is withheld if a model was qualified there, and does not
    play people.
    """
    claim, curve = audit.multiverse.claim, audit.curve
    report = Report(folder, NAME, "A claim over many specifications")
    tables: dict[str, Any] = {
        "differences": audit.differences.assign(**claim.compared),
        "curve": curve.effects, "variance": audit.parts, "topics": audit.topics,
        "settings": audit.settings.assign(means=audit.settings["means"].map(_means_text)),
    }  # fmt: skip
    report.data(**tables)
    report.plain(f"“{claim.claim}”")
    report.add(f"**{sentence(audit, checked or folder)}**")
    report.lines(f"- {line}" for line in _beside(audit))
    report.add(*notes)
    report.disclaim_models(*claim.population.models)
    _add_compared(report, audit)
    _add_missing(report, audit)
    _add_curve(report, audit)
    _add_settings(report, audit)
    _add_variance(report, audit)
    _add_design(report, audit)
    report.section("What the audit does not show", LIMITS)
    report.write()
    return write_html([folder], folder / f"{NAME}.html")


def sentence(audit: Audit, folder: Path) -> str:
    """Return the verdict; that it is withheld where a model was qualified in `folder`, and does not play people."""
    failed = not_playing(audit.multiverse.cells(), folder)
    multiverse = audit.multiverse
    return withheld(failed) if failed else verdict(multiverse.claim, audit.curve, audit.settings, audit.together)


def _beside(audit: Audit) -> Iterator[str]:
    """Yield what has to be known with the sentence."""
    claim, differences = audit.multiverse.claim, whole_specifications(audit.differences)
    yield from about_bound(claim, differences)
    lines = (
        unevenly_missing(audit.lost),
        at_the_start(differences, *start_gap(differences)),
        noise_left(audit.parts, audit.curve),
    )
    yield from filter(None, lines)
    yield from generality(claim, differences)


def _add_curve(report: Report, audit: Audit) -> None:
    claim, curve = audit.multiverse.claim, audit.curve
    report.section("The specification curve", CURVE + (ALIKE if claim.expected == "equivalent" else SWAPPED))
    if not len(curve.effects):
        return
    report.add(f"{_beyond(claim, curve)} {INTERVALS}")
    report.figure(curve_figure(audit), NAME, "Effect of each specification, and its settings")


def _beyond(claim: Claim, curve: Curve) -> str:
    """Return how many intervals of specifications lie on one side of 0, and beyond the smallest effect of interest."""
    low, high, size = curve.effects["low"], curve.effects["high"], len(curve.effects)
    counts = {"below 0": (high < 0).sum(), "above 0": (low > 0).sum()}
    if claim.expected == "less":
        counts[f"at or below {format_number(-claim.smallest)}"] = (high <= -claim.smallest).sum()
    elif claim.expected == "greater":
        counts[f"at or above {format_number(claim.smallest)}"] = (low >= claim.smallest).sum()
    else:
        inside = (low > -claim.smallest) & (high < claim.smallest)
        counts[f"within {format_number(claim.smallest)} of 0"] = inside.sum()
    return f"Of {size} intervals, {join_phrases([f'{count} lie {where}' for where, count in counts.items()])}."


def _add_settings(report: Report, audit: Audit) -> None:
    report.section("Settings that should not matter", SETTINGS)
    why = {} if audit.settings["reason"].eq("").all() else {"reason if missing": "reason"}
    report.table(audit.settings, {**SETTING_COLUMNS, **why})


def _means_text(means: Mapping[str, float]) -> str:
    return "; ".join(f"{level}: {value:.4f}" for level, value in means.items())


SYMMETRIC = (
    " The test assumes that effects of groups are not skewed. If a few groups have far larger effects than others, p of the "
    "opposite direction is too small. If the effects are clearly skewed, the report names no direction."
)


def _add_compared(report: Report, audit: Audit) -> None:
    """Add what was compared: arms, outcome, people, topics, models, and how many differences there are."""
    multiverse, claim, size = audit.multiverse, audit.multiverse.claim, len(audit.multiverse.design)
    people, groups = claim.population, len(audit.curve.units)
    arms = [", ".join(pairs) or "as the scenario" for pairs in claim.spelled_arms()]
    first, differences = SEEDS * multiverse.seed, audit.differences
    swapped = claim.expected != "equivalent" and 0 < groups <= EXACT
    smallest = f"; with {groups} groups p cannot be below {format_number(0.5**groups, 3)}" if swapped else ""
    symmetric = "" if claim.expected == "equivalent" else SYMMETRIC
    used = whole_specifications(differences).dropna(subset="difference")
    means = [format_number(float(used[arm].mean())) for arm in ARMS]
    report.section("What was compared")
    lines = (
        f"Both conditions: the scenario {claim.scenario} with {', '.join(claim.settings) or 'its own settings'}, the same "
        "topics and the same seed. The people in both conditions are from the same group. A condition with fewer seats has "
        "only some people of the group.",
        f"First condition: {arms[0]}; {_rooms_of(differences['seated_first'])}. Mean outcome: {means[0]}.",
        f"Second condition: {arms[1]}; {_rooms_of(differences['seated_second'])}. Mean outcome: {means[1]}.",
        f"Outcome: {claim.measure.label}, {claim.measure.about}. Ratings on every scale are read as 0 to 10. The effect is the "
        "outcome of the first condition minus that of the second condition. The claim expects the effect to be "
        f"{EXPECTED[claim.expected]}. The smallest effect of interest in the claim file is {format_number(claim.smallest)}.",
        f"Models: {', '.join(people.models)}. Topics: {', '.join(people.topics)}. "
        f"Sets of personas: {', '.join(people.personas)}. Societies: {', '.join(people.societies)}.",
        f"Units: {count_phrase(groups, 'separate group')} of people ({count_phrase(multiverse.repetitions, 'repetition')} "
        f"{'of each set' if len(people.personas) > 1 else 'of the set'} of personas; groups that share a person count as "
        f"one, and a Default, which has no persona beyond a name, is not counted){smallest}.{symmetric}",
        f"Differences: {len(differences):,}, one for each specification ({size}), topic ({len(people.topics)}) and "
        f"repetition ({multiverse.repetitions}). Missing: {int(differences['difference'].isna().sum()):,}. "
        f"Each specification has one set of personas and one seed, {first} to {first + size - 1}.",
    )
    report.lines(f"- {escape_markdown(line)}" for line in lines)


def _rooms_of(seated: pd.Series) -> str:
    """Return how a unit is seated in an arm: what most units have."""
    seatings = seated[seated != ""]
    return "no room" if seatings.empty else str(seatings.mode().iat[0])


def _add_missing(report: Report, audit: Audit) -> None:
    lost = audit.differences[audit.differences["difference"].isna()]
    if len(lost):
        report.missing(len(lost), len(audit.differences), "differences are missing", count_table(lost["reason"]))
    if audit.dropped:
        report.add(
            f"{count_phrase(audit.dropped, 'specification')} with fewer than half of the differences: left out of all results."
        )


def _add_variance(report: Report, audit: Audit) -> None:
    report.section("Where differences between effects come from", PARTS_NOTE)
    if audit.parts.empty:
        report.add("The split of the variance is unknown, because all differences are equal.")
        return
    report.table(audit.parts, PART_COLUMNS)
    report.section("Topics", TOPICS)
    report.table(audit.topics, TOPIC_COLUMNS)
    report.add(_average_line(audit))


def _average_line(audit: Audit) -> str:
    """Return the average effect of the hierarchical model: for topics like these only if there are enough of them."""
    middle, low, high = map(format_number, audit.average)
    if len(audit.topics) < FEWEST_TOPICS or "topic" not in set(audit.parts["source"]):
        few = f"{count_phrase(len(audit.topics), 'topic')} cannot tell how much topics differ"
        return (
            f"The average effect in the hierarchical model is {middle}. For similar topics the average effect is unknown, "
            f"because {few}."
        )
    return (
        "The average effect in the hierarchical model, for topics like these and with these people and specifications, is "
        f"{middle} ({low} to {high})."
    )


def _add_design(report: Report, audit: Audit) -> None:
    """Add what was varied, what was left out, and how the specifications were chosen."""
    multiverse = audit.multiverse
    size = count_phrase(len(multiverse.design), "specification")
    related = f"is {format_number(multiverse.confounding, 3)}"
    if audit.differences["difference"].isna().any():
        related += f" by design, and {format_number(audit.confounding, 3)} among the differences that are not missing"
    report.section(
        "What was varied",
        f"{size} with both conditions, each with its own seed. The values of a setting occur equally often (their numbers "
        f"differ by at most one). The largest correlation between two settings {related}.",
    )
    rows = [
        [dimension.name, dimension.family, ", ".join(dimension.levels), dimension.about]
        for dimension in multiverse.dimensions
    ]
    report.table(rows, ["setting", "kind", "levels", "what they mean"])
    if multiverse.left_out:
        report.add("Left out:")
        report.lines(f"- {escape_markdown(name)}: {escape_markdown(why)}" for name, why in multiverse.left_out.items())
