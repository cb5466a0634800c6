"""The report on steps: how near representatives are to their people, compared with a stranger's and the person once more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.deliberation.ballot_equivalence import ALL, LOT, ONE, equivalence_table
from parley.analysis.deliberation.payoffs import open_payoff, scored_by
from parley.analysis.deliberation.step_study import (
    NOT_ASKED,
    OWN,
    STRANGER,
    TWICE,
    WHO,
    StepResult,
    StepStudy,
    step_table,
)
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_number
from parley.analysis.report import Report

TITLES = {
    OWN: "own representative",
    STRANGER: "a stranger's representative",
    TWICE: "the person once more",
    "gain": "own minus a stranger's",
    "short": "the person once more minus own",
    LOT: "a ballot by lot",
    f"{OWN} - {STRANGER}": "own minus a stranger's",
    f"{OWN} - {LOT}": "own minus a ballot by lot",
}
PLURAL = {"opinion": "opinions", "ballot": "ballots", "vote": "votes", "vote, by ratings": "votes by ratings"}
COLUMNS: Mapping[str, Column] = {
    "step": "step", "compared with the person": "title", "likeness": estimate("value"), "cases": "cases", "missing": "missing",
    "sessions": "sessions", "no interval because": "reason",
}  # fmt: skip
READING = (
    "Likeness is 1 for the same. Opinions: 1 minus the mean distance of the payoffs that a scorer reads from two opinions on the "
    "same statements, as a share of the range. Ballots: Kendall's tau-b. Votes: 1 for the same, 0.5 with a tie, 0 for opposite "
    "ones. The unit is the session: likeness is averaged over a session first, and brackets hold 95% intervals over sessions "
    "(none below five). A stranger's representative is the null; the same person asked once more is the ceiling."
)
WHOSE = {ONE: "one member", ALL: "all members"}
CHANGES: Mapping[str, Column] = {
    "step": "step", "ballots replaced": "profile", "by": "title", "same ballots": estimate("same_ballot"),
    "same choice": estimate("same_choice"), "same by every rule": estimate("same_by_all"), "change of points": estimate("gap"),
    "cases": "cases", "missing": "missing", "sessions": "sessions",
}  # fmt: skip
CHAIN = (
    "Ballots of one member, or of all members, are replaced. *Same ballots*: all that are replaced are the people's own. *Same "
    "choice*: the group chooses what it chose before, by the rule of the run; *by every rule*: by each rule of docs/choice.md. "
    "*Change of points*: the share of other statements that the choice beats on the person's own ballot, minus that of the "
    "choice before. The same ballots lead to the same choice, and the same choice to the same points; the reverse is not so. A "
    "ballot by lot is the null: one ballot of many seldom decides."
)


def write_steps(result: StepResult, settings: StepStudy, folder: Path) -> Path:
    """Write steps.md, its tables and its figure; return the path of the page."""
    rows, replaced, sources = result
    table = step_table(rows)
    shown = table.assign(title=table["measure"].map(TITLES))
    report = Report(folder, "steps", "Representatives at each step")
    report.disclaim(*(source.header for source in sources if source.header))
    known = f"who know {settings.knows or 'the base'}"
    by = scored_by(open_payoff(settings.payoff), settings.judge)
    report.disclaim_models(settings.llm, by)
    report.add(
        f"Representatives: {settings.llm}{f' ({settings.adapter})' if settings.adapter else ''}, {known}. Opinions are "
        f"compared by the payoff {settings.payoff}, scored by {by}.",
        READING,
    )
    for who in WHO:
        reasons = rows.loc[rows[who].isna(), f"why_{who}"]
        report.missing(len(reasons), len(rows), f"cases have no likeness of {TITLES[who]}", count_table(reasons))
    report.section("In short", "\n".join(f"- {line}" for line in sentences(table)))
    report.section("Likeness by step")
    levels = shown[shown["measure"].isin(WHO) & shown["low"].notna()]
    if len(levels):
        levels = levels.assign(what=levels["step"] + ": " + levels["title"])
        title, caption = "Likeness to what the person did", f"Representatives: {settings.llm}, {known}"
        report.figure(dot_plot(levels, ["what"], "value", "Likeness (1: the same)", caption, title), "steps", title)
    report.table(shown, COLUMNS)
    report.data(steps=table, cases=rows)
    if len(replaced):
        _add_changes(report, replaced)
    return report.write()


def _add_changes(report: Report, replaced: pd.DataFrame) -> None:
    """Add what ballots of representatives change: the ballots, the choice, what people get."""
    table = equivalence_table(replaced)
    shown = table.assign(title=table["who"].map(TITLES), profile=table["profile"].map(WHOSE))
    report.section("What their ballots change", CHAIN, "\n".join(f"- {line}" for line in change_sentences(table)))
    levels = shown[shown["who"].isin([*WHO, LOT]) & shown["same_choice_low"].notna()]
    if len(levels):
        title = "How often the group chooses the same"
        what = levels["step"] + " of " + levels["profile"] + ": " + levels["title"]
        label, caption = (
            "Share of choices that stay the same",
            "Ballots are replaced by those of representatives, or by lot",
        )
        report.figure(
            dot_plot(levels.assign(what=what), ["what"], "same_choice", label, caption, title), "changes", title
        )
    report.table(shown[shown["cases"] > 0], CHANGES)
    report.data(changes=table, replaced=replaced)


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """Yield for each step whether representatives are nearer than strangers', and how far below the ceiling."""
    for step, part in table.groupby("step", sort=False):
        rows = part.set_index("measure").to_dict("index")
        yield from _lines(PLURAL[str(step)], rows)


def _lines(what: str, rows: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    gain, short = rows["gain"], rows["short"]
    if gain["reason"]:
        yield f"Whether {what} of representatives are nearer to the person's own than a stranger's is unknown: {gain['reason']}."
        return
    by = format_estimate(gain["value"], gain["low"], gain["high"])
    if not gain["low"] > 0:
        said = "farther from" if gain["high"] < 0 else "not clearly nearer to"
        yield f"{what.capitalize()} of representatives are {said} the person's own than a stranger's: the difference is {by}."
        return
    yield f"{what.capitalize()} of representatives are nearer to the person's own than a stranger's, by {by}."
    if math.isnan(short["value"]):
        yield f"How far below the ceiling these {what} are is unknown: {NOT_ASKED}."
    elif short["reason"]:
        yield f"How far below the ceiling these {what} are is unknown: {short['reason']}."
    elif short["low"] > 0:
        less = format_estimate(short["value"], short["low"], short["high"])
        yield f"The same person asked once more is nearer still, by {less}."
    else:
        less = format_estimate(short["value"], short["low"], short["high"])
        yield f"They are not clearly farther from it than the same person asked once more: the difference is {less}."


def change_sentences(table: pd.DataFrame) -> Iterator[str]:
    """Yield for each step and profile whether representatives keep the group's choice, compared with ballots by lot."""
    for (step, profile), part in table.groupby(["step", "profile"], sort=False):
        rows = part.set_index("who").to_dict("index")
        where = f"{PLURAL[str(step)].capitalize()} of {WHOSE[profile]}"
        yield f"{where}: {_change_line(rows[OWN], rows[LOT], rows[f'{OWN} - {LOT}'])}"


def _change_line(own: Mapping[str, Any], lot: Mapping[str, Any], gain: Mapping[str, Any]) -> str:
    """Return one sentence on the choice, one on the points."""
    if gain["reason"]:
        return f"whether representatives keep the group's choice more often than ballots by lot is unknown ({gain['reason']})."
    by, low, high = (gain[f"same_choice{end}"] for end in ("", "_low", "_high"))
    verb = "keep" if low > 0 or high < 0 else "do not clearly keep"
    often = "less often" if high < 0 else "more often"
    said = (
        f"representatives {verb} the group's choice {often} than ballots by lot: in {format_number(own['same_choice'])} and "
        f"{format_number(lot['same_choice'])} of the choices, a difference of {format_estimate(by, low, high)}."
    )
    points = format_estimate(*(own[f"gap{end}"] for end in ("", "_low", "_high")))
    return f"{said} The change of points is {points}."
