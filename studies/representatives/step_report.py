"""The report on steps: how near representatives are to their people, compared with a stranger's and the person once more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.contrasts import NEARER, amount
from parley.analysis.deliberation.position_change import sharing_caution
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import verdict
from parley.analysis.unknown import clause, unknown_sentence
from parley.model.titles import join_phrases
from parley.studies.representatives.ballot_equivalence import ALL, LOT, ONE, equivalence_table
from parley.studies.representatives.payoffs import open_payoff, scored_by
from parley.studies.representatives.step_cases import Sessions
from parley.studies.representatives.step_study import (
    NOT_ASKED,
    OWN,
    STRANGER,
    TWICE,
    WHO,
    StepResult,
    StepStudy,
    step_table,
)

TITLES = {
    OWN: "own representative",
    STRANGER: "a stranger's representative",
    TWICE: "the person once more",
    "gain": "own minus a stranger's",
    "short": "the person once more minus own",
    LOT: "a random ballot",
    f"{OWN} - {STRANGER}": "own minus a stranger's",
    f"{OWN} - {LOT}": "own minus a random ballot",
}
PLURAL = {"opinion": "opinions", "ballot": "ballots", "vote": "votes", "vote, by ratings": "votes by ratings"}
COLUMNS: Mapping[str, Column] = {
    "step": "step", "compared with the person": "title", "likeness": estimate("value"), "cases": "cases", "missing": "missing",
    "sessions": "sessions", "no interval because": "reason",
}  # fmt: skip
READING = (
    "Likeness is 1 if two answers are the same. For opinions, likeness is 1 minus the mean distance of the payoffs that a "
    "scorer reads from two opinions, as a share of the range. For ballots, likeness is Kendall's tau-b. For votes, likeness "
    "is 1 for the same vote, 0.5 with a tie, and 0 for opposite votes. Likeness is averaged over a session first. Brackets "
    "hold 95% intervals over sessions, if there are five sessions or more. A stranger's representative is the null; the same "
    "person asked once more is the ceiling."
)
BY = {OWN: "with representatives", STRANGER: "with strangers' representatives", LOT: "with random ballots"}
WHOSE = {ONE: "one member", ALL: "all members"}
CHANGES: Mapping[str, Column] = {
    "step": "step", "ballots replaced": "profile", "by": "title", "same ballots": estimate("same_ballot"),
    "same choice by every rule": estimate("same_by_all"), "same choice": estimate("same_choice"),
    "change of points": estimate("gap"), "choices": "choices", "cases": "cases", "missing": "missing", "sessions": "sessions",
}  # fmt: skip
CHAIN = (
    "A *ballot* ranks the candidate statements. A *vote* at the end ranks draft and revision, and decides nothing. The report "
    "counts the recorded ballots again, with the ballots of one member or of all members replaced. Later rounds are not "
    "played again.",
    "- *Same ballots*: every replaced ballot equals the one that the person cast.\n- *Same choice*: the choice equals the "
    "recorded choice, by the rule of the run. *Same choice by every rule*: by each rule of "
    "studies/representatives/README.md.\n- *Change of points*: how much higher or lower the person ranks the new choice on "
    "its own ballot, as a share of the other statements (-1 to 1).",
    "Another ballot may leave the choice the same by chance. The two nulls are a random ballot and the representative of a "
    "stranger, another member of the group. The represented person matters only if choices stay the same more often than with "
    "a stranger's representative. A case is a member in a choice. Intervals of shares end at 0 and 1.",
)


def write_steps(result: StepResult, settings: StepStudy, folder: Path) -> Path:
    """Write steps.md, its tables and its figure; return the path of the page."""
    rows, replaced, sources = result
    table = step_table(rows)
    shown = table.assign(title=table["measure"].map(TITLES))
    report = Report(folder, "steps", "Representatives at each step")
    report.disclaim(*(source.header for source in sources if source.header))
    knowledge = f"who know {settings.knows or 'the base'}"
    by = scored_by(open_payoff(settings.payoff), settings.judge)
    report.disclaim_models(settings.llm, by)
    report.add(
        f"Representatives: {settings.llm}{f' ({settings.adapter})' if settings.adapter else ''}, {knowledge}. Opinions are "
        f"compared by the payoff {settings.payoff}, scored by {by}.",
        " ".join(filter(None, [READING, sharing_caution(_seats(sources))])),
    )
    for who in WHO:
        reasons = rows.loc[rows[who].isna(), f"why_{who}"]
        report.missing(len(reasons), len(rows), f"cases have no likeness of {TITLES[who]}", count_table(reasons))
    report.in_short(sentences(table))
    report.section("Likeness by step")
    levels = shown[shown["measure"].isin(WHO) & shown["low"].notna()]
    if len(levels):
        levels = levels.assign(what=levels["step"] + ": " + levels["title"])
        title, caption = "Likeness to what the person did", f"Representatives: {settings.llm}, {knowledge}"
        report.figure(dot_plot(levels, ["what"], "value", "Likeness (1: the same)", caption, title), "steps", title)
    report.table(shown, COLUMNS)
    report.data(steps=table, cases=rows)
    if len(replaced):
        _add_changes(report, replaced)
    return report.write()


def _seats(sources: Sequence[Sessions]) -> set[tuple[str, tuple[str, str]]]:
    """Return sessions, each with a person who takes part: personas of another set are other people."""
    return {
        (case.session, (str(source.header.scenario["personas"]) if source.header else "", case.voice.participant))
        for source in sources
        for case in source.cases
    }


def _add_changes(report: Report, replaced: pd.DataFrame) -> None:
    """Add what ballots of representatives change: the ballots, the choice, what people get."""
    table = equivalence_table(replaced)
    shown = table.assign(title=table["who"].map(TITLES), profile=table["profile"].map(WHOSE))
    report.section("What their ballots change", *CHAIN, "\n".join(f"- {line}" for line in change_sentences(table)))
    levels = shown[shown["who"].isin([OWN, STRANGER, LOT]) & shown["same_choice_low"].notna()]
    if len(levels):
        title, label = "How often the group chooses the same statement", "Share of choices that stay the same"
        levels = levels.assign(what=levels["step"] + " of " + levels["profile"])
        caption = "Some ballots are replaced, and the choice is counted again"
        report.figure(dot_plot(levels, ["what"], "same_choice", label, caption, title, by="title"), "changes", title)
    report.table(shown[shown["cases"] > 0], CHANGES)
    report.data(changes=table, replaced=replaced)


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """Yield for each step whether representatives are nearer than strangers', and how far below the ceiling."""
    for step, step_rows in table.groupby("step", sort=False):
        rows = step_rows.set_index("measure").to_dict("index")
        yield from _lines(PLURAL[str(step)], rows)


def _lines(what: str, rows: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    gain, short = rows["gain"], rows["short"]
    if gain["reason"]:
        yield (
            f"Whether {what} of representatives are nearer to the person's own than a stranger's are is "
            f"unknown, because {clause(gain['reason'])}."
        )
        return
    by = amount((gain["value"], gain["low"], gain["high"]), NEARER, "")
    if not gain["low"] > 0:
        likeness = "farther from" if gain["high"] < 0 else "not clearly nearer to"
        yield f"{what.capitalize()} of representatives are {likeness} the person's own than a stranger's: {by}."
        return
    yield f"{what.capitalize()} of representatives are nearer to the person's own than a stranger's: {by}."
    if math.isnan(short["value"]):
        yield unknown_sentence(f"how far below the ceiling representatives' {what} are", NOT_ASKED)
    elif short["reason"]:
        yield unknown_sentence(f"how far below the ceiling representatives' {what} are", short["reason"])
    else:
        size = amount((short["value"], short["low"], short["high"]), NEARER, "")
        clear = (
            ""
            if short["low"] > 0
            else "It is not shown that the person, asked once more, is nearer than the representative. "
        )
        yield f"{clear}The same person asked once more is {size} than the representative is."


def change_sentences(table: pd.DataFrame) -> Iterator[str]:
    """Yield for each step and profile how often the group chooses the same, and with random ballots and a stranger's."""
    for (step, profile), profile_rows in table.groupby(["step", "profile"], sort=False):
        rows = profile_rows.set_index("who").to_dict("index")
        where = f"{PLURAL[str(step)].capitalize()} of {WHOSE[profile]}"
        if why := rows[f"{OWN} - {LOT}"]["reason"]:
            yield f"{where}: what ballots of representatives change is unknown ({why})."
            continue
        shares = [f"{_points(rows[who], 'same_choice')} {by}" for who, by in BY.items() if rows[who]["cases"]]
        yield f"{where}: the choice stays the same in {join_phrases(shares)}. {_compared(rows)} {_lost(rows)}"


def _compared(rows: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return whether representatives keep the choice more often than a random ballot and than a stranger's."""
    comparisons = []
    for other, named in ((LOT, "with random ballots"), (STRANGER, "with a stranger's")):
        gain = rows[f"{OWN} - {other}"]
        low, high = gain["same_choice_low"], gain["same_choice_high"]
        often = verdict(low, high, "more often", "less often", "not clearly more often")
        compared = f"{often} than {named}, with a difference of {_points(gain, 'same_choice')}"
        comparisons.append(
            f"whether this share is higher than {named} is unknown ({gain['reason']})" if gain["reason"] else compared
        )
    return f"The choice stays the same {comparisons[0]}, and {comparisons[1]}."


def _lost(rows: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return how much lower people rank what is chosen instead."""
    return (
        f"Points change by {_points(rows[OWN], 'gap')} with representatives, and by {_points(rows[LOT], 'gap')} with "
        "random ballots."
    )


def _points(row: Mapping[str, Any], measure: str) -> str:
    return format_estimate(*(row[f"{measure}{end}"] for end in ("", "_low", "_high")))
