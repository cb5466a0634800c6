"""The report of `run.py bets` with a judge: bets compared with verdicts, by model, and the strength of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import ESTIMATE, error_bars, new_figure
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_number, number
from parley.analysis.persuasion import bradley_terry
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import SHARE, mean_interval
from parley.analysis.studies.bet_calibration import (
    PAIRING,
    PERCENT,
    bet_table,
    curve,
    ends,
    findings,
    score_table,
)
from parley.analysis.studies.bets import bets_report
from parley.analysis.tables import Tables

WINNING = "winning"
"""The survey question on which debaters bet where a judge decides (probes.toml of a language)."""
READING = (
    "After each debate the judge says who made the better case, with the debaters named in both orders. A debater wins if both "
    "orders name it; else the debate is a tie, which counts half. Brackets are 95% intervals over pairings of people "
    "(repetitions), with all their debates on all topics."
)
ABOUT = (
    "Overconfidence: the bet minus the percentage of debates won, in points. One of two debaters wins, so right bets are 50 on "
    "average over all debaters. Brier score: mean squared distance of bet and verdict (0: always right). `even`: the same for a "
    "bet of 50 in every debate. `shuffled`: the same for bets shuffled among the pairings of people, the null."
)
SCORES: Mapping[str, Column] = {
    "bets": "when", "model": "model", "debates": "debates", "mean bet": number("bet", 1),
    "won (%)": lambda row: format_number(PERCENT * row["won"], 1), "overconfidence": estimate("overconfidence", 1),
    "Brier score": estimate("brier", 3), "even": number("even", 3), "shuffled": number("shuffled", 3),
}  # fmt: skip
CURVE: Mapping[str, Column] = {
    "bets from": "low_bet", "to": "high_bet", "bets": "bets", "pairings": "pairings", "mean bet": number("bet", 1),
    "share won": estimate("won"),
}  # fmt: skip
STRENGTH: Mapping[str, Column] = {
    "model": "message", "strength": estimate("score"), "share won": "wins", "pairings": "people", "debates": "comparisons",
}  # fmt: skip


def write_judged(
    runs: Mapping[str, Tables],
    verdicts: pd.DataFrame,
    models: Mapping[str, tuple[str, str]],
    judge: str,
    seed: int,
    folder: Path,
) -> Path:
    """Write bets.md with the verdicts of a judge, its tables and figures; return the path of the page.

    models: the models of the first and the second seat, by condition.
    """
    report = bets_report(runs, folder, WINNING)
    bets = bet_table(runs, verdicts, WINNING, models)
    scored = ends(bets)
    scores, points = score_table(scored, seed), curve(scored["last"])
    named = list(dict.fromkeys(name for pair in models.values() for name in pair))
    report.section("Who wins", f"Judge: {judge}. {READING}")
    report.disclaim_models(judge, *named)
    report.data(verdicts=verdicts, judged_bets=bets, calibration=scores, curve=points)
    lost = verdicts[verdicts["won"].isna()]
    report.missing(len(lost), len(verdicts), "debates have no verdict", count_table(lost["reason"]))
    report.lines(f"- {line}" for line in _judge_lines(verdicts))
    if len(named) > 1:
        _add_strengths(report, verdicts, models, named)
    report.section("Bets and verdicts", ABOUT, "\n".join(f"- {line}" for line in findings(scores)))
    report.table(scores, SCORES)
    if len(points):
        caption = f"{disclaimers.spec_label(judge)} is the judge"
        report.figure(curve_figure(points, caption), "curve", "Share of debates won by the last bet")
        report.table(points, CURVE)
    return report.write()


def _judge_lines(verdicts: pd.DataFrame) -> list[str]:
    """Return what besides the debaters may decide: the order of the names, the side, and the seat that begins."""
    known = verdicts.dropna(subset=["won"])
    if known.empty:
        return ["What else decides verdicts is unknown: there are none."]
    known = known.assign(place=(known["named_first"] + 1 - known["named_last"]) / 2)
    means = known.groupby(PAIRING)[["place", "for_won", "won"]].mean()
    what = ("The debater named first is chosen", "The side for the claim wins", "The debater who begins wins")
    rows = [(start, means[name].to_numpy(dtype=float)) for start, name in zip(what, means, strict=True)]
    ties = f"The order of the names decided {PERCENT * known['decided'].mean():.0f}% of verdicts, which are ties."
    return [*(f"{what} in {_percent(values)}%." for what, values in rows), ties]


def _percent(values: np.ndarray) -> str:
    low, high = mean_interval(values, bounds=SHARE)
    return format_estimate(PERCENT * float(values.mean()), PERCENT * low, PERCENT * high, 1)


def _add_strengths(
    report: Report, verdicts: pd.DataFrame, models: Mapping[str, tuple[str, str]], named: Sequence[str]
) -> None:
    """Add Bradley-Terry strengths of models. The unit is the pairing of people: the repetition, over topics and conditions."""
    pairs = model_pairs(verdicts, models, named)
    strengths = bradley_terry.score_messages(pairs, named)
    about = (
        "Bradley-Terry strengths in logits around 0: of two models 1 apart, the stronger one wins 73%. Intervals leave out one "
        "pairing of people (repetition) at a time, with all its debates."
    )
    report.section("Strength of the models", about)
    report.data(strengths=strengths.rename(columns={"message": "model"}))
    if reason := bradley_terry.why_unknown(pairs, named):
        report.plain(f"The strengths are unknown: {reason}.")
    report.table(strengths.sort_values("score", ascending=False), STRENGTH)


def model_pairs(verdicts: pd.DataFrame, models: Mapping[str, tuple[str, str]], named: Sequence[str]) -> pd.DataFrame:
    """Return one row per debate: member (the repetition), a, b (models in the order of `named`), value (1: a wins)."""
    rows = []
    for row in verdicts.to_dict("records"):
        first, second = models[str(row["condition"])]
        ahead = named.index(first) < named.index(second)
        value = row["won"] if ahead else 1 - row["won"]
        a, b = (first, second) if ahead else (second, first)
        rows.append((row["repetition"], a, b, value))
    return pd.DataFrame(rows, columns=["member", "a", "b", "value"])


def curve_figure(points: pd.DataFrame, caption: str) -> Figure:
    """Draw the share of debates won by the mean bet; the dotted line is where both are equal."""
    shown = points.assign(**{name: PERCENT * points[name] for name in ("won", "low", "high")})
    note = f"{caption}. Bars are 95% intervals over pairings of people"
    with new_figure(3.6, 3.2, note, title="Are bets right?", about="On the dotted line bets are right.") as figure:
        axis = figure.subplots()
        axis.plot([0, 100], [0, 100], color="#999999", linewidth=0.8, linestyle=":")
        axis.errorbar(shown["bet"], shown["won"], yerr=error_bars(shown, "won"), fmt="o-", color=ESTIMATE, markersize=4)
        axis.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="Last bet on winning (0–100)", ylabel="Debates won (%)")
    return figure
