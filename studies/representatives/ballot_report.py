"""The report on ballots: rules of choice, predicted against own ballots, the final vote."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.deliberation.position_change import sharing_caution
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, too_few, verdict
from parley.analysis.unknown import unknown_sentence
from parley.studies.representatives.ballots import BY_LOT, UNIT, Ballots, accuracy_table, rule_table, vote_row

RULE_COLUMNS: Mapping[str, Column] = {
    "rule": "rule", "same winner as schulze": estimate("same"), "mean points": estimate("mean"),
    "points of the worst off": estimate("worst"), "more than a random candidate": estimate("gain"), "sessions": "sessions",
}  # fmt: skip
ACCURACY_COLUMNS: Mapping[str, Column] = {
    "predicted ballots compared with": "ballots", "tau": estimate("tau"), "pairs": "pairs", "sessions": "sessions",
    "no interval because": "reason",
}  # fmt: skip
READING = (
    "A session is a group of people and all its questions. Each measure is averaged over the choices of a session first. "
    "Brackets hold 95% intervals over sessions, if there are five sessions or more."
)
POINTS = (
    "All rules count the same ballots. Points are the share of candidates that the chosen candidate beats on a member's "
    "ballot (half for ties). A candidate drawn at random has 0.5 points on average. The worst off is the member with the "
    "fewest points. Ties are broken by ballots drawn alike for all rules."
)
TAU = (
    "Kendall's tau-b compares a predicted ballot with the member's own ballot: 1 for the same order, 0 for unrelated orders. "
    "The column *another member's* has the tau between a predicted ballot and another member's ballot. Tau cannot be computed "
    "for a ballot that ranks all candidates as equal."
)


def write_ballots(ballots: Ballots, folder: Path) -> Path:
    """Write ballots.md, its tables and its figure; return the path of the page."""
    kind = "own" if any(contest.own for contest in ballots.contests) else "predicted"
    rules, accuracy = rule_table(ballots.contests, kind), accuracy_table(ballots.contests)
    vote = vote_row(ballots.votes)
    report = Report(folder, "ballots", "Ballots of deliberations")
    report.disclaim(*ballots.headers)
    report.add(" ".join(filter(None, [READING, sharing_caution(ballots.seats)])))
    for name, asked_count in ballots.asked.items():
        reasons = Counter({reason: count for (of, reason), count in ballots.missing.items() if of == name})
        named = count_table(reason for reason, count in reasons.items() for _ in range(count))
        report.missing(
            reasons.total(),
            asked_count,
            f"{name} ballots are missing" if name != "vote" else "votes are missing",
            named,
        )
    report.in_short(sentences(ballots, rules, accuracy, vote))
    if not rules.empty:
        report.section("Rules of choice", f"Ballots: {kind}. {POINTS}")
        if math.isfinite(rules["worst_low"].max()):
            title, caption = "What each rule gives the worst off", f"{kind.capitalize()} ballots"
            shown = rules.rename(columns={"worst_low": "low", "worst_high": "high"})
            drawn = dot_plot(shown, ["rule"], "worst", "Points of the worst-off member", caption, title)
            report.figure(drawn, "rules", title)
        report.table(rules, RULE_COLUMNS)
    if ballots.asked["own"] and ballots.asked["predicted"]:
        report.section("Predicted ballots", TAU)
        report.table(accuracy, ACCURACY_COLUMNS)
    report.data(rules=rules, accuracy=accuracy, votes=pd.DataFrame([vote]))
    return report.write()


def sentences(ballots: Ballots, rules: pd.DataFrame, accuracy: pd.DataFrame, vote: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the rules, on predicted ballots and on the final vote; what is unknown has its reason."""
    if not rules.empty:
        yield _rule_line(rules)
    elif ballots.asked["own"] or ballots.asked["predicted"]:
        yield "It is unknown what a rule of choice changes, because no choice has two candidates and a readable ballot."
    if ballots.asked["own"] and ballots.asked["predicted"]:
        yield _accuracy_line(accuracy.set_index("ballots").to_dict("index"))
    elif ballots.asked["predicted"]:
        yield "It is unknown how well ballots are predicted, because members gave no ballots themselves (set `ballots=both`)."
    if ballots.asked["vote"]:
        yield _vote_line(vote)


def _rule_line(rules: pd.DataFrame) -> str:
    """Return which rules give the worst off clearly more or fewer points than a random candidate."""
    real_rules = rules[rules["rule"] != BY_LOT]
    if not real_rules["gain_low"].notna().any():
        reason = too_few(UNIT) if int(rules["sessions"].iloc[0]) < FEWEST else NO_VARIATION
        return unknown_sentence("what a rule changes for the worst-off member", reason)
    above = [f"`{name}`" for name in real_rules.loc[real_rules["gain_low"] > 0, "rule"]]
    below = [f"`{name}`" for name in real_rules.loc[real_rules["gain_high"] < 0, "rule"]]
    more, fewer = ", ".join(above) or "none", ", ".join(below) or "none"
    return (
        f"Rules whose winner gives the worst-off member clearly more points than a random candidate does: {more}. Rules whose "
        f"winner gives the worst-off member clearly fewer points: {fewer}."
    )


def _accuracy_line(rows: Mapping[Any, Mapping[str, Any]]) -> str:
    gap = rows["difference"]
    if gap["reason"]:
        return unknown_sentence("whether predicted ballots are about the member", gap["reason"])
    shown = format_estimate(gap["tau"], gap["low"], gap["high"], 2)
    if gap["low"] > 0:
        return f"Predicted ballots fit the member better than other members of the group: tau is higher by {shown}."
    if gap["high"] < 0:
        return f"Predicted ballots fit other members better than the member: the difference in tau is {shown}."
    return f"Predicted ballots do not clearly fit the member best: the difference in tau is {shown}."


def _vote_line(vote: Mapping[str, Any]) -> str:
    if vote["reason"]:
        return unknown_sentence("whether members prefer the revision to the draft", vote["reason"])
    share, low, high = (f"{100 * vote[name]:.0f}" for name in ("share", "low", "high"))
    votes = count_phrase(vote["votes"], "vote")
    sentence = f"{share}% ({low} to {high}) of {votes} prefer the revision to the draft, with ties counted half"
    clear = verdict(vote["low"], vote["high"], "more than half", "fewer than half", "no clear majority", at=0.5)
    return f"{sentence}: {clear}."
