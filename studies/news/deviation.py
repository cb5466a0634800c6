"""The report of `study judge --rubric deviation`: how a report changes by day, dimension and role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, STYLES, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate, format_p
from parley.analysis.report import Report
from parley.analysis.rubric_readings import RubricReading
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import ALIKE, FEWEST, is_even, mean_interval, p_of_mean, too_few
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

from .versions import (
    ALL_ROLES,
    DEVIATION,
    DIMENSIONS,
    FLOOR,
    MEASURES,
    RUBRIC,
    above_floor,
    added,
    by_day,
    by_item,
    by_room,
    floor,
    plan_versions,
    unit_means,
    verdicts,
    written,
)

LOOKS = (*OTHERS, *STYLES.values())
READING = (
    "A version is the text that one person wrote on one day. The judge compares each version with the true report in six "
    "dimensions, from 0 (no difference) to 10. Deviation is the mean of the six dimensions. On day 0 all people have the true "
    "report, so deviation is 0. Numbers are means of room means, with 95% intervals over rooms in brackets (over repetitions, "
    "if people pass on several items). The judge's floor is the deviation that the judge reads in the unchanged report, once "
    "for each room. A deviation that is not above the floor does not show a change."
)
LEVEL = 0.05
DAYS: Mapping[str, Column] = {
    **{name: name for name in ("day", "versions", "missing", "rooms")}, **{name: estimate(name) for name in MEASURES},
}  # fmt: skip
ITEMS: Mapping[str, Column] = {
    "item": "topic", "rooms": "rooms", "deviation": estimate("last"), "above the floor": estimate("above"),
    "growth a day": estimate("growth"),
}  # fmt: skip
ADDED = (
    "Added deviation is the deviation of a version minus the deviation of its source version. p is corrected (Holm) for the "
    "number of roles."
)
STEPS: Mapping[str, Column] = {
    "role": "role", "versions": "versions", "rooms": "rooms", "added": estimate("added"),
    "p, corrected": lambda row: format_p(row["p_holm"]),
}  # fmt: skip


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what was found in a few sentences; no claim without an interval that shows it."""
    return [_change(table), *_roles(table), _dimension(table)]


def _change(table: pd.DataFrame) -> str:
    units = unit_means(by_room(table).dropna(subset="above"), ["last", "above", "growth"])
    last, above, growth = (units[name].dropna().to_numpy(dtype=float) for name in units)
    if not len(above):
        return "It is unknown how far the story moved, because the judge read no version of the last day, or not the report."
    day = int(table["round"].max())
    size = f"Versions of day {day} are {last.mean():.1f} of 10 points from the report"
    base = f"the judge gives the unchanged report {(last - above).mean():.1f}"
    if is_even(above) and not above.any() and not last.any():
        return f"The story did not change: {size[0].lower()}{size[1:]}, and {base}."
    low, high = mean_interval(above)
    if len(above) < FEWEST:
        return f"{size}; {base}. With fewer than {FEWEST} rooms, it is unknown whether the story changed."
    if not (low > 0 or (is_even(above) and above.mean() > ALIKE)):
        gap = format_estimate(float(above.mean()), low, high)
        return f"{size}; {base}. No change of the story is shown: the difference is {gap}."
    rise = format_estimate(float(growth.mean()), *mean_interval(growth)) if len(growth) else ""
    ends = "" if np.isnan(low) else f" ({low:.2g} to {high:.2g} above that)"
    return f"The story changed: {size[0].lower()}{size[1:]}, and {base}{ends}. Deviation grows by {rise} points a day."


def _roles(table: pd.DataFrame) -> list[str]:
    additions = added(table)
    lines = []
    for row in additions.itertuples():
        if row.p_holm < LEVEL:
            way = "adds" if row.added > 0 else "takes back"
            span = format_estimate(abs(row.added), *sorted((abs(row.added_low), abs(row.added_high))))
            lines.append(f"A {row.role} {way} {span} points of deviation with each version.")
    return lines


def _dimension(table: pd.DataFrame) -> str:
    """Name the dimensions that are above the judge's floor on the last day; p is corrected by Holm for their number."""
    versions = above_floor(table)
    units = unit_means(versions[versions["round"] == versions["round"].max()], DIMENSIONS)
    dimension_values = [units[name].dropna().to_numpy(dtype=float) for name in DIMENSIONS]
    if max(map(len, dimension_values)) < FEWEST:
        return unknown_sentence("which dimensions changed", too_few())
    means, p = (
        [float(values.mean()) if len(values) else np.nan for values in dimension_values],
        [p_of_mean(values) for values in dimension_values],
    )
    corrected = holm(np.array(p))
    moved = [
        (size, name)
        for size, name, corrected_p in zip(means, DIMENSIONS, corrected, strict=True)
        if corrected_p < LEVEL and size > 0
    ]
    if not moved:
        return "No single dimension is clearly above the judge's reading of the unchanged report."
    ordered = [f"{name} ({size:.1f})" for size, name in sorted(moved, reverse=True)]
    return f"Above the floor on the last day, by points: {', '.join(ordered)}."


def figure(points: pd.DataFrame, floors: float, caption: str) -> Figure:
    """Draw one line per role (left) and per dimension (right), by day; bars are 95% intervals. The dot is the report itself."""
    with new_figure(6.4, 3.1, caption, title="How far the story moves from the true report") as drawn:
        left, right = drawn.subplots(1, 2, sharey=True)
        roles = [role for role in points["role"].unique() if role != ALL_ROLES] or [ALL_ROLES]
        for number, role in enumerate(roles, len(DIMENSIONS)):
            plot_line(left, points[points["role"] == role], "day", DEVIATION, role, LOOKS[number % len(LOOKS)])
        of_all = points[points["role"] == ALL_ROLES]
        for number, name in enumerate(DIMENSIONS):
            plot_line(right, of_all, "day", name, name, LOOKS[number % len(LOOKS)])
        measured = [f"{name}{end}" for name in (DEVIATION, *DIMENSIONS) for end in ("", "_high")]
        top = float(np.max(np.nan_to_num(points[measured].to_numpy(float)), initial=1.0))
        for axis, title in ((left, "Deviation by role"), (right, "All roles, by dimension")):
            axis.plot([0], [0], ".", color="#333333", markersize=5)
            axis.axhline(floors, color="#888888", linewidth=0.7, linestyle=":")
            axis.set(ylim=(-0.05 * top, 1.05 * top), xlabel="Day", title=title)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))  # also where no day was read
            axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        left.set(ylabel="Points from the report (of 10)")
        add_legend(drawn, [left, right], 3)
    return drawn


def write(table: pd.DataFrame, tables: Tables, folder: Path, spec: str) -> Path:
    """Write deviation.md, its tables and the figure; return the path of the first."""
    points, steps, name = by_day(table), added(table), tables.header.scenario["name"]
    report = Report(folder, "deviation", "How the story changed")
    items = by_item(table)
    report.data(deviation=points, added=steps, items=items)
    report.in_short(sentences(table))
    report.add(READING, f"{spec} judged {count_phrase(int(written(table)['text'].notna().sum()), 'version')}.")
    report.disclaim(tables.header)
    add_missing(report, table)
    base = float(floor(table)[DEVIATION].mean())
    caption = f"{name} on {disclaimers.model_label(tables.header)}; dotted: the judge's reading of the unchanged report"
    report.figure(figure(points, base, caption), "deviation", "Deviation by day, role and dimension")
    report.section("By day")
    zero = [_day_zero("0, the report", dict.fromkeys(MEASURES, 0.0))]
    zero.append(_day_zero("0 (judge's reading)", floor(table).mean().to_dict()))
    report.table([*zero, *points[points["role"] == ALL_ROLES].to_dict("records")], DAYS)
    if len(items) > 1:
        report.section("By item of news", "Numbers of the last day; items are not compared with each other.")
        report.table(items, ITEMS)
    report.section("What one retelling adds", ADDED)
    report.table(steps, STEPS)
    report.add(
        "The file `deviation.csv` has every role and day; the file `verdicts.csv` has every version and its source "
        "(studies/news/README.md)."
    )
    return report.write()


def add_missing(report: Report, *tables: pd.DataFrame) -> None:
    """Add how many versions have no deviation, and why; and the same of the unchanged report, if a reading of it is missing."""
    table = pd.concat(tables, ignore_index=True)
    reports = table[table["round"] == FLOOR]
    for rows, what in ((written(table), "versions have"), (reports, "readings of the unchanged report have")):
        unread = rows.loc[rows[DEVIATION].isna(), "reasons"]
        if len(unread) or rows is not reports:
            report.missing(len(unread), len(rows), f"{what} no deviation", count_table(unread))


def _day_zero(day: str, values: Mapping[str, float]) -> dict[str, Any]:
    """Return a row of the table by day for the report itself. values: of each measure."""
    ends = {f"{name}{end}": np.nan for name in MEASURES for end in ("_low", "_high")}
    return {"day": day, **dict.fromkeys(("versions", "missing", "rooms")), **values, **ends}


DEVIATIONS = RubricReading(RUBRIC, plan_versions, verdicts, DIMENSIONS, write)
