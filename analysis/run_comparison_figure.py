"""The figure of several runs on the same axes: attitudes, and under them the difference of each run from the first one."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames
from parley.analysis.figures import MARK, draw_null, error_bars, legend_entries, new_figure, styles_of_run
from parley.analysis.formatting import strip_controls
from parley.analysis.run_comparison import shared_seats
from parley.analysis.tables import Tables
from parley.model.titles import group_title, seat_title

LINES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1)), (0, (6, 1, 1, 1)))
"""Line styles of runs; the first one has filled markers."""
SIDE = 0.08
"""Points of several runs or parties at the same round are drawn this far apart, in rounds."""
BARS = "Points are means over rooms, bars are 95% intervals."
COMPARED = (
    "The upper panels show the mean attitude after each round, from 0 to 10; round 0 is the survey before the debate. The lower "
    "panels show the change of attitude since round 0 in points, minus the change in the run {}."
)
BRANCHED = (
    "The upper panels show the mean attitude after each round, from 0 to 10. The vertical line is where the "
    "branch begins. The lower panels show the rating in the branch minus the rating in its parent, in the "
    "same room, in points."
)
Looks = Mapping[str, Mapping[str, Any]]


def draw_runs(
    runs: Mapping[str, Tables],
    table: pd.DataFrame,
    caption: str = "",
    parted: int | None = None,
    title: str = "Attitudes in several runs, and how they differ",
) -> Figure:
    """Draw two panels for each topic and group of all runs. table: that of `compare_runs`.

    parted: the first round that may differ; the figure marks it, and differences are of ratings, not of movements.
    """
    (_, base), *others = runs.items()
    panels = [seat for seat in shared_seats(base, base) if all(seat in shared_seats(base, each) for _, each in others)]
    names = PartyNames.from_header(
        {key: about for run in reversed(list(runs.values())) for key, about in run.header.parties.items()}
    )
    looks, columns = styles_of_run(*runs.values()), min(3, max(1, len(panels)))
    rows = -(-max(1, len(panels)) // columns)
    about = BRANCHED if parted else COMPARED.format(strip_controls(next(iter(runs))))
    with new_figure(0.9 + 2.4 * columns, 0.6 + 3.4 * rows, caption or BARS, title=title, about=about) as figure:
        grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True, height_ratios=[1.7, 1] * rows)
        for place in range(rows * columns):
            above, below = (grid[2 * (place // columns) + panel_row][place % columns] for panel_row in (0, 1))
            if place >= len(panels):
                above.set_visible(False)
                below.set_visible(False)
                continue
            topic, group = panels[place]
            here = table[(table["topic"] == topic) & (table["group"] == group)]
            _attitudes(above, here, list(runs), looks, names)
            _differences(below, here, list(runs), looks)
            who = f"\n{textwrap.fill(group_title(group, names), 34)}" if len({group for _, group in panels}) > 1 else ""
            above.set_title(f"{base.title(topic)}{who}")
            below.tick_params(labelbottom=True)
            for axis in (above, below):
                if parted:
                    axis.axvline(parted - 0.5, **MARK)
            if place % columns == 0:
                above.set_ylabel("Attitude (0 to 10)")
                below.set_ylabel(_below(next(iter(runs)), parted))
        _same_scale([axis for row in grid[1::2] for axis in row])
        handles, labels = legend_entries(grid[0])
        if handles:
            figure.legend(
                handles, labels, loc="outside lower center", ncols=min(len(runs), 3), frameon=False, fontsize=7
            )
    return figure


def _below(first: str, parted: int | None) -> str:
    """Return the label of the panels of differences from the first run."""
    first = textwrap.shorten(strip_controls(first), 14, placeholder="…")
    return f"Minus {first}\n(points)" if parted else f"Change minus change\nin {first} (points)"


def _attitudes(axis: Axes, here: pd.DataFrame, runs: list[str], looks: Looks, names: PartyNames) -> None:
    for number, run in enumerate(runs):
        for party, points in here[here["run"] == run].groupby("party", sort=False):
            label = f"{seat_title(str(party), names)}, {strip_controls(run)}"
            _line(axis, points, "mean", looks[str(party)], number, (number - (len(runs) - 1) / 2) * SIDE, label)
    axis.set(ylim=(-0.3, 10.3), yticks=range(0, 11, 2))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _differences(axis: Axes, here: pd.DataFrame, runs: list[str], looks: Looks) -> None:
    """Draw the differences from the first run, with a line at 0."""
    draw_null(axis)
    compared = here[here["difference"].notna()]
    lines = list(compared.groupby(["run", "party"], sort=False))
    for place, ((run, party), points) in enumerate(lines):
        shift = (place - (len(lines) - 1) / 2) * SIDE
        _line(axis, points, "difference", looks[str(party)], runs.index(str(run)), shift, None)
    if not lines:
        axis.text(0.5, 0.5, "no ratings to compare", transform=axis.transAxes, ha="center", va="center", fontsize=6)
    axis.set_xlabel("Round (0: before)")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _line(
    axis: Axes, points: pd.DataFrame, value: str, look: Mapping[str, Any], number: int, shift: float, label: str | None
) -> None:
    axis.errorbar(
        points["round"] + shift, points[value], yerr=error_bars(points, value), color=look["color"], capsize=2,
        linestyle=LINES[number % len(LINES)], marker=look["markers"][number // 2 % 4], markersize=4, linewidth=1,
        markerfacecolor=look["color"] if number % 2 == 0 else "none", label=label,
    )  # fmt: skip


def _same_scale(axes: list[Axes]) -> None:
    """Give all panels of differences one scale, symmetrical around 0, of at least half a point."""
    ends = [abs(end) for axis in axes for end in axis.get_ylim() if axis.has_data() and axis.lines[1:]]
    reach = max([0.5, *ends])
    for axis in axes:
        axis.set_ylim(-reach, reach)
