"""The report of `run.py study confirm`: the stamp, the sentence, the looks and the units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from parley.analysis.formatting import (
    Column,
    count_phrase,
    count_table,
    escape_markdown,
    format_number,
    format_p,
    format_span,
    number,
)
from parley.analysis.html_report import write as write_html
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import is_even, mean_interval
from parley.analysis.statistics.power import p_alike
from parley.analysis.unknown import unknown_sentence
from parley.studies.claims.claim import Claim
from parley.studies.claims.curve import FEWEST_UNITS, MOST_MISSING
from parley.studies.claims.registration import Registration


@dataclass(frozen=True)
class Look:
    """A test at a look. units: a row per seed: effect, missing (the share of topics), excluded. p: in the expected direction.

    reason: why the result is unknown, else empty.
    """

    planned: int
    units: pd.DataFrame
    mean: float
    low: float
    high: float
    p: float
    reason: str

    def decides(self, level: float) -> bool:
        """Return whether the claim is supported at this level."""
        return not self.reason and self.p < level


def make_look(claim: Claim, differences: pd.DataFrame, missing: float) -> Look:
    """Test a claim on `pair_rooms` of several seeds, each with the same topics. missing: the largest share of a unit.

    The test is a one-sided t-test over seeds; with `equivalent`, two one-sided t-tests.
    """
    by = differences["seed"]
    effects, lost = differences["difference"].groupby(by).mean(), differences["difference"].isna().groupby(by).mean()
    units = pd.DataFrame({"effect": effects, "missing": lost}).reset_index()
    units["excluded"] = units["effect"].isna() | (units["missing"] > missing)
    values = units.loc[~units["excluded"], "effect"].to_numpy(dtype=float)
    mean = float(values.mean()) if len(values) else math.nan
    low, high = mean_interval(values)
    reason = _unknown(units, values)
    p = math.nan if reason else _p(claim, values, low, high)
    return Look(len(units), units, mean, low, high, p, reason)


def _unknown(units: pd.DataFrame, values: np.ndarray) -> str:
    lost = len(units) - len(values)
    if len(values) < FEWEST_UNITS:
        return f"there are {count_phrase(len(values), 'unit')} with a number, but at least {FEWEST_UNITS} are needed"
    if lost > MOST_MISSING * len(units):
        return f"{lost} of {len(units)} units are excluded"
    return "all units have the same effect" if is_even(values) else ""


def _p(claim: Claim, values: np.ndarray, low: float, high: float) -> float:
    if claim.expected == "equivalent":
        return p_alike(float(values.mean()), low, high, len(values) - 1, claim.smallest)
    return float(ttest_1samp(values, 0.0, alternative=claim.expected).pvalue)


def claim_sentence(claim: Claim, looks: Sequence[Look], level: float) -> str:
    """Return what the last look says of the claim."""
    last = looks[-1]
    if last.reason:
        return unknown_sentence("whether the claim holds", last.reason)
    used = int((~last.units["excluded"]).sum())
    numbers = f"the mean effect is {format_number(last.mean)} ({format_span(last.low, last.high)}) over {used} units"
    tested = f"p {format_p(last.p)}, level {level:.3g}"
    if last.decides(level):
        size = f"; the smallest effect of interest is {format_number(claim.smallest)}"
        within = f" within {format_number(claim.smallest)} of 0" if claim.expected == "equivalent" else size
        small = (
            ", but the effect is smaller than the smallest effect of interest"
            if claim.too_small(last.low, last.high)
            else ""
        )
        supported = "The direction of the claim is" if small else "The claim is"
        return f"{supported} supported{small}: {numbers}{within} ({tested})."
    if against := _against(claim, last):
        return f"The claim is not supported, and the 95% interval lies {against}: {numbers} ({tested})."
    return f"It is unknown whether the claim holds, because {numbers}, and the test does not decide ({tested})."


def _against(claim: Claim, look: Look) -> str:
    """Return where an interval lies that a claim excludes; "" if it does not."""
    if claim.expected == "equivalent":
        beyond = look.low > claim.smallest or look.high < -claim.smallest
        return f"beyond {format_number(claim.smallest)} of 0" if beyond else ""
    other = look.high < 0 if claim.expected == "greater" else look.low > 0
    return "on the other side of 0" if other else ""


NAME = "confirmation"
COLUMNS: Mapping[str, Column] = {
    "units": "units", "left out": "excluded", "mean effect": number("mean"), "low": number("low"), "high": number("high"),
    "p": number("p", 4), "reason if unknown": "reason",
}  # fmt: skip
LIMITS = (
    "The hash shows that the registration is unchanged only if the author published the hash at that time. The author can also "
    "change the dates of files and the list of results seen before. The result of the test is for the registered topics, people "
    "and model."
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
    rows = [{**vars(look), "units": look.planned, "excluded": int(look.units["excluded"].sum())} for look in looks]
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
        "Looks",
        "The test stops at the first look whose p is below the level of the test. `low` and `high` are the ends of a "
        "95% interval (Student's t).",
    )
    report.table(table, COLUMNS)
    report.section("What was registered")
    report.lines(f"- {escape_markdown(line)}" for line in plan_lines(plan))
    report.section("What the test does not show", LIMITS)
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
        f"left out: units (seeds) with more than {100 * plan.missing:g}% of topics without a number",
        f"models: {', '.join(plan.models)}; topics: {', '.join(claim.population.topics)}",
    ]
