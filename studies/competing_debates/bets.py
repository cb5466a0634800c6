"""Two debaters bet in private that they win: against another, their own copy, and their copy with even chances announced.

Source: "When Two LLMs Debate, Both Think They'll Win" (2025). Its baseline is a model that debates itself, either without or with
a sentence that says its chances are even; docs/presets.md lists the departures. A copy is the same person under another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.society import Society
from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, draw_null, draw_points, new_figure, plot_line
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_number, number
from parley.analysis.metrics.confidence import PROBE, SURE
from parley.analysis.persuasion import bradley_terry
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import SHARE, clustered_share_interval
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions, conditions_report, mean_row, unit_means
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .calibration import PAIRING, PERCENT, bet_table, curve, ends, findings, score_table

CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "another": {"seats": ["second", "first"], "cast": "circle", "introduce": "nothing"},
    "own copy": {"seats": ["second", "second"], "cast": "copies", "introduce": "copy"},
    "own copy, even chances told": {"seats": ["second", "second"], "cast": "copies", "introduce": "even"},
}
MEASURES = ("start", "end", "escalation")
PERCENTS = (0.0, 100.0)
CAPTION = (
    "Bets are 0-100, averaged over both debaters of a room. A room with a missing bet is left out and counted. Escalation is "
    "the last bet minus the first bet. The column `both at 75 or more` has the share of rooms in which both debaters end at "
    "75 or more, although only one debater can win. Brackets are 95% confidence intervals over repetitions, because people "
    "debate again on every topic. Differences are from the first condition, within topic and repetition."
)
COPIES = "A debater wins 50% of debates against its own copy. So a bet above 50, or a bet that rises, is overconfident."


def tournament(models: Sequence[str], society: Society) -> dict[str, dict[str, Any]]:
    """Return the settings of a condition for each ordered pair of models, by `1 for, 2 against` (their places in `models`).

    The debater of the first seat begins and argues for the claim. In the two conditions of a pair the same people have changed
    models, so that seat, side and order are the same for both models.
    """
    people = {**CONDITIONS["another"], "sides": "assigned"}
    seats, settings = (society.seat("second"), society.seat("first")), {}
    for first, other in sorted(permutations(range(len(models)), 2), key=lambda pair: (sorted(pair), pair)):
        speakers = [f"{seat}={models[place]}" for seat, place in zip(seats, (first, other), strict=True)]
        settings[f"{first + 1} for, {other + 1} against"] = {**people, "llm": models[first], "llms": speakers}
    return settings


def rooms(tables: Tables, probe: str = PROBE) -> pd.DataFrame:
    """Return one row per room: topic, repetition, start and end (mean bet), escalation, sure (1: both end at 75 or more).

    NaN where a bet of either debater is missing. probe: the question that is bet on.
    """
    bets = tables.probes[tables.probes["probe"] == probe]
    first, last = bets["round"].min(), bets["round"].max()
    rows = []
    for (topic, repetition, _), room in bets.groupby([*PAIR, "room"], sort=False):
        start, end = (room.loc[room["round"] == round_, "rating"] for round_ in (first, last))
        means = start.mean(skipna=False), end.mean(skipna=False)
        sure = float((end >= SURE).all()) if end.notna().all() else np.nan
        rows.append([topic, repetition, *means, means[1] - means[0], sure])
    return pd.DataFrame(rows, columns=[*PAIR, *MEASURES, "sure"])


def by_round(runs: Mapping[str, Tables], probe: str = PROBE) -> pd.DataFrame:
    """Return one row per condition and round: rooms, bet (mean of room means) with its interval over repetitions."""
    rows = []
    for name, tables in runs.items():
        bets = tables.probes[tables.probes["probe"] == probe]
        for round_, round_bets in bets.groupby("round"):
            means = round_bets.groupby([*PAIR, "room"])["rating"].apply(lambda room: room.mean(skipna=False)).dropna()
            counts = {"condition": name, "round": round_, "rooms": len(means)}
            rows.append(counts | mean_row(unit_means(means), "bet", bounds=PERCENTS))
    return pd.DataFrame(rows)


AGAINST = {
    "another": "Against another debater",
    "own copy": "Against its own copy",
    "own copy, even chances told": "Against its own copy, told that chances are even",
}
"""The legend of the figure, by condition."""
EVEN = "The dotted line marks a bet of 50, which is right against a debater's own copy."


def bet_figure(points: pd.DataFrame, caption: str) -> Figure:
    """Draw the mean bet by round, one line per condition; the dotted line is at 50."""
    title = "How sure debaters are that they win"
    note = f"Points are means over rooms, bars are 95% intervals over repetitions. {caption}"
    with new_figure(3.8, 3.0, note, title=title, about=EVEN) as figure:
        axis = figure.subplots()
        for (name, line), look in zip(points.groupby("condition", sort=False), OTHERS, strict=False):
            plot_line(axis, line, "round", "bet", AGAINST.get(str(name), str(name)), look)
        draw_null(axis, 50)
        axis.set(ylim=(-3, 103), xlabel="Round (0: before)", ylabel="Own chance of winning,\nas bet in private (0–100)")
        add_legend(figure, [axis], 1)
    return figure


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write bets.md, its tables (bets, rounds) and its figure; return the path of the page."""
    return bets_report(runs, folder).write()


def bets_report(runs: Mapping[str, Tables], folder: Path, probe: str = PROBE) -> Report:
    """Return the report on bets, with its tables (bets, rounds) and its figure written. probe: the question that is bet on."""
    by_room = {name: rooms(tables, probe) for name, tables in runs.items()}
    tables = {
        measure: compare_conditions(by_room, measure, None if measure == MEASURES[-1] else PERCENTS).set_index(
            "condition"
        )
        for measure in MEASURES
    }
    header, points = next(iter(runs.values())).header, by_round(runs, probe)
    table = pd.concat(tables, names=["measure"]).reset_index()
    caption = f"{CAPTION} {COPIES}" if set(runs) <= set(CONDITIONS) else CAPTION
    report = conditions_report(folder, "bets", "Private bets", caption, header, bets=table, rounds=points)
    report.figure(bet_figure(points, disclaimers.model_label(header)), "bets", "Bets by round")
    heads = ["against", "rooms", "left out", "first bet", "last bet", "escalation", "difference", "both at 75 or more"]
    report.table([_cells(name, by_room[name], tables) for name in by_room], heads)
    return report


def _cells(name: str, by_room: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    rows = [tables[measure].loc[name] for measure in MEASURES]
    escalation, sure = rows[-1], by_room.dropna(subset="sure").groupby("repetition")["sure"]
    hits, sizes = sure.sum().to_numpy(dtype=float), sure.size().to_numpy(dtype=float)
    share = format_estimate(hits.sum() / sizes.sum() if len(sizes) else None, *clustered_share_interval(hits, sizes))
    bets, difference = map(estimate("value", 1), rows), estimate("difference", 1)(escalation)
    return [name, f"{escalation['rooms']:.0f}", f"{escalation['missing']:.0f}", *bets, difference, share]


WINNING = "winning"
"""The survey question on which debaters bet where a judge decides (probes.toml of a language)."""
READING = (
    "After each debate the judge says which debater made the better case, with the debaters named in both orders. A debater "
    "wins if the judge names the debater in both orders; otherwise the debate is a tie, which counts half. Brackets are 95% "
    "intervals over pairings of people (repetitions), with all their debates on all topics."
)
ABOUT = (
    "Overconfidence is the bet minus the percentage of debates won, in points. Only one of two debaters wins, so the right mean "
    "bet is 50. The Brier score is the mean squared distance of bet and verdict (0: always right). The column `even` has the "
    "Brier score if every bet were 50. The column `shuffled` has the Brier score by chance, if bets are shuffled among the "
    "pairings of people."
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
    decided = verdicts.dropna(subset=["won"])
    if decided.empty:
        return ["It is unknown what else decides verdicts, because no verdict was given."]
    decided = decided.assign(place=(decided["named_first"] + 1 - decided["named_last"]) / 2)
    means = decided.groupby(PAIRING)[["place", "for_won", "won"]].mean()
    what = ("The debater named first is chosen", "The side for the claim wins", "The debater who begins wins")
    rows = [
        (start, estimate("share", 1, PERCENT)(mean_row(means[name].to_numpy(dtype=float), "share", bounds=SHARE)))
        for start, name in zip(what, means, strict=True)
    ]
    ties = f"The order of the names decided {PERCENT * decided['decided'].mean():.0f}% of verdicts, which are ties."
    return [*(f"{start} in {share}%." for start, share in rows), ties]


def _add_strengths(
    report: Report, verdicts: pd.DataFrame, models: Mapping[str, tuple[str, str]], named: Sequence[str]
) -> None:
    """Add Bradley-Terry strengths of models. The unit is the pairing of people: the repetition, over topics and conditions."""
    pairs = model_pairs(verdicts, models, named)
    strengths = bradley_terry.score_messages(pairs, named)
    about = (
        "Bradley-Terry strengths are in logits around 0: of two models whose strengths are 1 apart, the stronger model wins "
        "73% of debates. Intervals leave out one pairing of people (repetition) at a time, with all its debates."
    )
    report.section("Strength of the models", about)
    report.data(strengths=strengths.rename(columns={"message": "model"}))
    if reason := bradley_terry.why_unknown(pairs, named):
        report.plain(unknown_sentence("the strengths", reason, "are"))
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
    with new_figure(3.6, 3.2, note, title="Are bets right?", about="Bets on the dotted line are right.") as figure:
        axis = figure.subplots()
        axis.plot([0, 100], [0, 100], color="#999999", linewidth=0.8, linestyle=":")
        draw_points(axis, shown["bet"], shown, "won", upright=True, fmt="o-")
        axis.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="Last bet on winning (0–100)", ylabel="Debates won (%)")
    return figure
