"""The page docs/exam.md, its figure and exam_statistics.csv, from the rows of exam.csv; the prose is page.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from null_reports import NOTHING
from scipy.stats import binom

from examined import ENTRIES
from examined.columns import registered
from parley.analysis.figures import KINDS as FORMATS
from parley.analysis.figures import RC, TWO_COLUMNS
from parley.analysis.formatting import markdown_table
from parley.analysis.statistics.intervals import share_interval

HERE = Path(__file__).parent
BAR = (3.5, 6.5)
NO_VERDICT, WITHIN = "no verdict", "within"
SHADES = {
    2: ("#662506", "P"),
    3: ("#8c2d04", "v"),
    5: ("#d95f0e", "o"),
    10: ("#fe9929", "s"),
    20: ("#2c7fb8", "D"),
    40: ("#253494", "^"),
}
"""Colour and marker of each number of units: warm for few, cold for many, apart for every kind of colour vision."""
RIGHT_END = 20.0
"""Misses in percent beyond which a dot is drawn at the edge."""


def draw_figure(table: pd.DataFrame, path: Path) -> None:
    """Write the dot plot: misses in percent by kind of data, a dot per statistic and number of units."""
    judged = table[table["verdict"] != NO_VERDICT].assign(percent=lambda rows: 100 * rows["missed"])
    kinds = list(dict.fromkeys(judged["data"]))
    rng = np.random.default_rng(0)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(TWO_COLUMNS, 0.26 * len(kinds) + 1.3), layout="constrained")
        axis = figure.add_subplot()
        axis.axvspan(*BAR, color="#dddddd", zorder=0)
        axis.axvline(5, color="#777777", linewidth=0.8, zorder=0.5)
        for units, (colour, marker) in SHADES.items():
            size_rows = judged[judged["units"] == units]
            at = np.array([kinds.index(kind) for kind in size_rows["data"]]) + rng.uniform(-0.3, 0.3, len(size_rows))
            filled = np.where(size_rows["verdict"] == WITHIN, colour, "white")
            axis.scatter(
                size_rows["percent"].clip(upper=RIGHT_END),
                at,
                s=13,
                c=filled,
                edgecolors=colour,
                marker=marker,
                linewidths=0.8,
            )
        axis.set_yticks(range(len(kinds)), kinds)
        axis.set(xlim=(-0.5, RIGHT_END + 0.5), ylim=(len(kinds) - 0.5, -0.5))
        axis.set_xlabel("Data sets in which the statistic misses the truth, in percent (5 is right; 20: 20 or more)")
        axis.set_ylabel("Kind of data")
        axis.set_title("How often each statistic of Parley misses the truth", loc="left", fontsize=9)
        _add_legend(axis, sorted(set(judged["units"])))
        figure.savefig(path, metadata=FORMATS["svg"])


def _add_legend(axis: Any, units: list[int]) -> None:
    dots = [Line2D([], [], linestyle="", marker=SHADES[count][1], color=SHADES[count][0], markersize=4, label=f"{count}")
            for count in units]  # fmt: skip
    hollow = Line2D(
        [],
        [],
        linestyle="",
        marker="o",
        markerfacecolor="white",
        color="#555555",
        markersize=4,
        label="outside of the bar",
    )
    axis.legend(
        handles=[*dots, hollow], title="units (rooms, people, items)", loc="lower right", frameon=False, fontsize=7
    )


def write_page(table: pd.DataFrame, path: Path) -> None:
    """Write the page, and beside it a table with a row for each statistic; the page has those outside of the bar."""
    template = (HERE / "page.md").read_text(encoding="utf-8")
    counted = table[table["verdict"] != NO_VERDICT]
    head, rows = _rows(table)
    pd.DataFrame(rows, columns=head).to_csv(path.with_name("exam_statistics.csv"), index=False, lineterminator="\n")
    slots = {
        "minutes": f"{table['seconds'].sum() / 60:.0f}",
        "fewest": f"{counted['sets'].min()}",
        "most": f"{counted['sets'].max():,}", "low": f"{BAR[0]}", "high": f"{BAR[1]}", "result": _result(counted,
              table),
        "table": markdown_table(head, [row for row in rows if row[-1]]),
        "kappa": _cell(table[(table["statistic"] == "kappa") & (table["units"] == 10)]),
        "reports": _reports(path.with_name("exam_reports.csv")),
        "nothing": f"{len(NOTHING)}",
        "columns": _columns(),
        "limits": (HERE / "limits.md").read_text(encoding="utf-8").strip(),
    }  # fmt: skip
    path.write_text(template.format(**slots), encoding="utf-8")


def _reports(path: Path) -> str:
    """Return the table of whole reports, and of kinds of lines with more false ones than chance has."""
    if not path.is_file():
        return "Not counted: run `python benchmarks/control.py`."
    table = pd.read_csv(path)
    table = table[(table["line"] == "whole report") | (table["claimed"] > table["chance"])]
    head = ["report", "rooms", "results", "seeds", "false", "by chance", "share (95% interval over seeds)"]
    rows = []
    for row in table.to_dict("records"):
        share, low, high = (f"{100 * row[name]:.1f}" for name in ("share", "low", "high"))
        false = f"{row['claimed']} of {row['lines']:,}"
        rows.append([row["report"], f"{row['rooms']}", row["line"], f"{row['seeds']}", false, f"{row['chance']}",
                     f"{share}% ({low} to {high})"])  # fmt: skip
    return markdown_table(head, rows)


def _columns() -> str:
    """Return how many columns of reports there are, and what checks them."""
    columns = registered()
    kinds = [
        row.exam.partition(":")[0] if row.exam.startswith(("elsewhere:", "no claim:")) else "exam" for row in columns
    ]
    reports = len({row.report for row in columns})
    return (
        f"Parley has {len(columns)} columns with an interval or a P value in {reports} reports. This exam tests "
        f"{kinds.count('exam')} of the columns, and separate benchmarks or tests check {kinds.count('elsewhere')} columns. "
        f"{kinds.count('no claim')} columns make no claim, such as the range of a control condition next to a result."
    )


def power(counted: pd.DataFrame, rate: float) -> float:
    """Return the mean chance that a condition is called too often if it misses the truth at this rate (0 to 1).

    counted: rows of exam.csv with a verdict. A condition is called so if the interval of its misses is above the bar.
    """
    sizes = counted["known"].astype(int).value_counts()
    return float(np.average([1 - binom.cdf(_most_within(size) - 1, size, rate) for size in sizes.index], weights=sizes))


def _most_within(size: int) -> int:
    """Return the smallest number of misses of so many results that is called too often."""
    return next(missed for missed in range(size + 2) if share_interval(min(missed, size), size)[0] > BAR[1] / 100)


def _result(counted: pd.DataFrame, table: pd.DataFrame) -> str:
    wrong, silent = counted[counted["verdict"] != WITHIN], len(table) - len(counted)
    often = int((wrong["verdict"] == "too often").sum())
    exact = counted[~counted["statistic"].isin([entry.name for entry in ENTRIES if entry.at_most])]
    pooled = 100 * (exact["missed"] * exact["known"]).sum() / exact["known"].sum()
    low, middle, high = (f"{100 * power(exact, rate / 100):.0f}%" for rate in (8, 10, 15))
    return (
        f"A *condition* is one statistic with one number of units on one kind of data. Over all conditions together, "
        f"{pooled:.1f}% of the results miss the truth. The exam detects a true miss rate of 8% "
        f"with a probability of {low}, of 10% with {middle}, and of 15% with {high}. "
        f"The exam tested {table['statistic'].nunique()} statistics in {len(table):,} conditions. In {silent:,} conditions with "
        "few units, the statistic says `unknown` or has fewer than 30 results. Of the "
        f"{len(counted):,} conditions with enough results, {len(counted) - len(wrong):,} are within the bar, {often} miss too "
        f"often, and {len(wrong) - often} miss too seldom."
    )


def _rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    sizes = sorted(set(table["units"]))
    head = ["statistic", "unit", *map(str, sizes), "outside of the bar"]
    rows = []
    for entry in ENTRIES:
        statistic_rows = table[table["statistic"] == entry.name]
        if len(statistic_rows):
            cells = [_cell(statistic_rows[statistic_rows["units"] == size]) for size in sizes]
            rows.append(
                [
                    f"{entry.name}{' ≤' if entry.at_most else ''}",
                    entry.unit,
                    *cells,
                    "; ".join(_outside(statistic_rows)),
                ]
            )
    return head, rows


def _cell(cell_rows: pd.DataFrame) -> str:
    judged = cell_rows[cell_rows["verdict"] != NO_VERDICT]
    if judged.empty:
        return "–" if len(cell_rows) else ""
    return f"{100 * (judged['missed'] * judged['known']).sum() / judged['known'].sum():.1f}"


def _outside(statistic_rows: pd.DataFrame) -> Iterator[str]:
    for row in statistic_rows[~statistic_rows["verdict"].isin([WITHIN, NO_VERDICT])].to_dict("records"):
        ends = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
        yield f"{row['data']}, {row['units']}: {100 * row['missed']:.1f} ({ends})"
