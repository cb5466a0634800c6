"""The same story without an official statement, with an early one and with a late one.

Source: FUSE (Liu et al. 2024, arXiv 2410.19064), which finds that prevention in advance works better than a late
refutation. All conditions have the same seed: people, links and who gets the story from whom are the same, so that
differences are within rooms. Each run begins with the replies of the one before it, so that runs are the same up to
the day of their first statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import format_estimate
from parley.analysis.statistics.intervals import FEWEST, SCALE, too_few
from parley.analysis.studies.paired_conditions import compare_conditions, conditions_report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.interventions.fact_check import FactCheck
from parley.model.scenario import Scenario

from .deviation import add_missing
from .versions import ALL_ROLES, DEVIATION, by_day, by_unit

NONE, EARLY, LATE = "no statement", "early statement", "late statement"
STATEMENT = "{report}"
SPEAKER = "Press Office"
CAPTION = (
    "The statement is the true report, which all people read before the named day. Deviation is the mean distance of the last "
    "day's versions from the true report (0-10); growth is in points a day. Numbers are means over rooms, and brackets are "
    "95% intervals over rooms. If people pass on several items, intervals are over repetitions, and a repetition without a "
    "number on one item is missing. Differences are between rooms with equal items, people and links."
)
MEASURES = ("last", "growth")


def conditions(base: Scenario, early: int, late: int) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition. Errors: UserError where the days do not fit.

    early, late: the statement comes before this day. Other interventions of the scenario are left out.
    """
    if not 1 <= early < late <= base.rounds:
        raise UserError(
            f"the early statement (day {early}) must come before the late statement (day {late}), and both within "
            f"{base.rounds} days: change --early or --late"
        )
    days = {NONE: None, EARLY: early, LATE: late}
    return {name: {"interventions": statements(day)} for name, day in days.items()}


def statements(day: int | None) -> tuple[FactCheck, ...]:
    """Return the official statement before a day; none without a day."""
    return () if day is None else (FactCheck(round=day, text=STATEMENT, by=SPEAKER),)


def compare(rooms: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per measure and pair of conditions: early and late minus none, and early minus late, within rooms.

    rooms: by condition a frame as `by_unit` makes it.
    """
    parts = []
    for measure, bounds in zip(MEASURES, (SCALE, None), strict=True):
        first = compare_conditions({name: rooms[name] for name in (NONE, EARLY, LATE)}, measure, bounds)
        second = compare_conditions({name: rooms[name] for name in (LATE, EARLY)}, measure, bounds)
        contrast = second[second["condition"] == EARLY].assign(condition=f"{EARLY} - {LATE}")
        parts.append(pd.concat([first, contrast], ignore_index=True).assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def sentence(compared: pd.DataFrame, days: Mapping[str, int]) -> str:
    """Return whether the early statement keeps the story nearer to the report; no verdict without an interval."""
    row = compared[(compared["measure"] == "last") & (compared["condition"] == f"{EARLY} - {LATE}")].iloc[0]
    low, high = row["difference_low"], row["difference_high"]
    when = f"A statement before day {days[EARLY]} instead of day {days[LATE]}"
    if not np.isfinite(low):
        why = (
            too_few()
            if row["pairs"] < FEWEST
            else "the difference is the same in all rooms"
            if row["difference"]
            else "nothing differs"
        )
        return f"{when}: whether the statement matters is unknown, because {why}."
    size = format_estimate(abs(row["difference"]), *sorted((abs(low), abs(high))))
    if high < 0:
        return f"{when} keeps the last versions {size} points nearer to the report."
    if low > 0:
        return f"{when} leaves the last versions {size} points farther from the report."
    return f"{when} makes no clear difference: {format_estimate(row['difference'], low, high)} points."


def write(runs: Mapping[str, tuple[Tables, pd.DataFrame]], folder: Path, days: Mapping[str, int], judge: str) -> Path:
    """Write refutation.md, its tables and the figure; return the path of the first. runs: tables and verdicts by condition."""
    compared = compare({name: by_unit(verdicts) for name, (_, verdicts) in runs.items()})
    points = pd.concat({name: _points(verdicts) for name, (_, verdicts) in runs.items()}, names=["condition"])
    points = points.reset_index(level=0).reset_index(drop=True)
    header = next(iter(runs.values()))[0].header
    versions = pd.concat({name: verdicts for name, (_, verdicts) in runs.items()}, names=["condition"])
    written = {"refutation": compared, "days": points, "verdicts": versions.reset_index("condition")}
    report = conditions_report(folder, "refutation", "Early and late refutation", CAPTION, header, **written)
    report.in_short([sentence(compared, days)])
    report.figure(
        _figure(points, days, disclaimers.model_label(header)), "refutation", "Deviation by day and condition"
    )
    report.section("Conditions", f"{judge} judged the versions.")
    add_missing(report, *(verdicts for _, verdicts in runs.values()))
    heads = ["condition", "rooms", "missing", "deviation, last day", "difference", "growth", "difference"]
    report.table([_cells(compared, name) for name in compared["condition"].unique()], heads)
    return report.write()


def _points(verdicts: pd.DataFrame) -> pd.DataFrame:
    days = by_day(verdicts, (DEVIATION,))
    return days[days["role"] == ALL_ROLES].drop(columns="role")


def _cells(compared: pd.DataFrame, name: str) -> list[str]:
    rows = compared[compared["condition"] == name].set_index("measure")
    shown, contrast = [], " - " in name
    for measure in MEASURES:
        row = rows.loc[measure]
        shown.append("" if contrast else format_estimate(*row[["value", "low", "high"]]))
        ends = row[["difference", "difference_low", "difference_high"]]
        shown.append(format_estimate(*ends) if row["pairs"] else "")
    last = rows.loc["last"]
    return [name, f"{last['pairs' if contrast else 'rooms']:.0f}", "" if contrast else f"{last['missing']:.0f}", *shown]


def _figure(points: pd.DataFrame, days: Mapping[str, int], caption: str) -> Figure:
    """One line per condition; an upright line at each statement, just before its day. The dot is the report itself."""
    with new_figure(4.2, 3.0, caption, title="How far a story moves, by official statement") as figure:
        axis = figure.subplots()
        for (name, line), look in zip(points.groupby("condition", sort=False), OTHERS, strict=False):
            plot_line(axis, line, "day", DEVIATION, str(name), look)
        for day in days.values():
            axis.axvline(day - 0.5, color="#888888", linewidth=0.7, linestyle=":")
        top = float(np.max(np.nan_to_num(points[[DEVIATION, f"{DEVIATION}_high"]].to_numpy(float)), initial=1.0))
        axis.plot([0], [0], ".", color="#333333", markersize=5)
        axis.set(ylim=(-0.05 * top, 1.05 * top), xlabel="Day", ylabel="Deviation from the report (of 10)")
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(figure, [axis], 1)
    return figure
