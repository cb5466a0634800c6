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
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import estimate, format_estimate
from parley.analysis.metrics.confidence import PROBE, SURE
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import clustered_share_interval
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions, conditions_report, mean_row, unit_means
from parley.analysis.tables import Tables

CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "another": {"seats": ["second", "first"], "cast": "circle", "introduce": "nothing"},
    "own copy": {"seats": ["second", "second"], "cast": "copies", "introduce": "copy"},
    "own copy, even chances told": {"seats": ["second", "second"], "cast": "copies", "introduce": "even"},
}
MEASURES = ("start", "end", "escalation")
PERCENTS = (0.0, 100.0)
CAPTION = (
    "Bets are 0-100, averaged over both debaters of a room. A room with a missing bet is left out and counted. Escalation is the "
    "last bet minus the first. `both at 75 or more` is the share of rooms in which both end there, though only one can win. "
    "Brackets are 95% confidence intervals over repetitions, because the same people debate on "
    "every topic. Differences are from the first condition, within topic and repetition."
)
COPIES = "Against its own copy, a debater wins with 50%: a higher bet, or a bet that rises, is overconfidence."


def tournament(models: Sequence[str], society: Society) -> dict[str, dict[str, Any]]:
    """Return the settings of a condition for each ordered pair of models, by `1 for, 2 against` (their places in `models`).

    The debater of the first seat begins and argues for the claim. In the two conditions of a pair the same people have changed
    models, so that seat, side and order are the same for both models.
    """
    people = {**CONDITIONS["another"], "sides": "assigned"}
    seats, settings = (society.seat("second"), society.seat("first")), {}
    for one, other in sorted(permutations(range(len(models)), 2), key=lambda pair: (sorted(pair), pair)):
        speakers = [f"{seat}={models[place]}" for seat, place in zip(seats, (one, other), strict=True)]
        settings[f"{one + 1} for, {other + 1} against"] = {**people, "llm": models[one], "llms": speakers}
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
        for round_, part in bets.groupby("round"):
            means = part.groupby([*PAIR, "room"])["rating"].apply(lambda room: room.mean(skipna=False)).dropna()
            counts = {"condition": name, "round": round_, "rooms": len(means)}
            rows.append(counts | mean_row(unit_means(means), "bet", bounds=PERCENTS))
    return pd.DataFrame(rows)


AGAINST = {
    "another": "Against another debater",
    "own copy": "Against its own copy",
    "own copy, even chances told": "Against its own copy, and knows that chances are even",
}
"""The legend of the figure, by condition."""
EVEN = "The dotted line at 50 is an even chance, which is right against one's own copy."


def bet_figure(points: pd.DataFrame, caption: str) -> Figure:
    """Draw the mean bet by round, one line per condition; the dotted line is at 50."""
    title = "How sure debaters are that they win"
    note = f"Points are means over rooms, bars are 95% intervals over repetitions. {caption}"
    with new_figure(3.8, 3.0, note, title=title, about=EVEN) as figure:
        axis = figure.subplots()
        for (name, line), look in zip(points.groupby("condition", sort=False), OTHERS, strict=False):
            plot_line(axis, line, "round", "bet", AGAINST.get(str(name), str(name)), look)
        axis.axhline(50, color="#999999", linewidth=0.8, linestyle=":")
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
    bets = [format_estimate(row["value"], row["low"], row["high"], 1) for row in rows]
    difference = estimate("difference", 1)(escalation)
    return [name, f"{escalation['rooms']:.0f}", f"{escalation['missing']:.0f}", *bets, difference, share]
