"""Figures in the paper's layout: attitude 0-10 by number of replies, one panel a topic, R red, D blue, Default neutral.

Party is told by colour, marker and line style alike, so that the figure reads without colour. Bars are standard errors over
rooms. The dashed line is the Default's level before the debates where no Default takes part (Figs 4 and 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.load import Tables
from analysis.metrics._cells import default_level
from analysis.metrics.trajectory import compute
from analysis.wording import group_title, slug

matplotlib.use("agg")
STYLES = {
    "republican": {"color": "#c1272d", "markers": "so^D", "linestyle": "-"},
    "democrat": {"color": "#1f5fa8", "markers": "o^vP", "linestyle": "--"},
    "default": {"color": "#555555", "markers": "DX*p", "linestyle": ":"},
}
OTHER = {"color": "#8a5a00", "markers": "PXph", "linestyle": "-."}
RC: Any = {
    "svg.hashsalt": "parley",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 160,
}


def write_figures(tables: Tables, folder: Path, caption: str) -> Path:
    """Write the figures of a run, each as PNG and SVG; the path of the main one (all groups and topics).

    A run with several groups has a figure for each of them as well, named after it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    points = compute(tables)
    with plt.rc_context(RC):
        main = save(attitudes(tables, points, tables.groups, caption), folder / "attitudes")
        if len(tables.groups) > 1:
            for group in tables.groups:
                save(attitudes(tables, points, [group], caption), folder / f"attitudes_{slug(group)}")
    return main


def save(figure: Figure, stem: Path) -> Path:
    """Write stem.png and stem.svg, the same bytes for the same data; the path of the PNG."""
    png = stem.with_name(f"{stem.name}.png")
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(stem.with_name(f"{stem.name}.svg"), metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return png


def attitudes(tables: Tables, points: pd.DataFrame, groups: Sequence[str], caption: str) -> Figure:
    """Rows are groups, columns topics; one group alone with four topics is laid out two by two."""
    topics = tables.topics
    square = len(groups) == 1 and len(topics) == 4
    rows, columns = (2, 2) if square else (len(groups), len(topics))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(1 + 2.9 * columns, 1.1 + 2.5 * rows),
        sharex="row",
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels = [(group, topic) for group in groups for topic in topics]
    for axis, (group, topic) in zip(axes.flat, panels, strict=True):
        _panel(axis, tables, points[(points["group"] == group) & (points["topic"] == topic)], topic, group)
        if topic == topics[0]:
            axis.legend(fontsize=7, frameon=False, loc="best")
    _titles(figure, axes, tables, groups, square)
    figure.supxlabel("Number of replies", fontsize=9)
    figure.suptitle(caption, fontsize=9)
    return figure


def _titles(figure: Figure, axes: object, tables: Tables, groups: Sequence[str], square: bool) -> None:
    grid = list(axes)  # type: ignore[call-overload]
    for axis, topic in zip([axis for row in grid for axis in row] if square else grid[0], tables.topics, strict=True):
        axis.set_title(tables.title(topic))
    for row, group in zip(grid, groups if not square else [groups[0]] * 2, strict=True):
        row[0].set_ylabel(f"{group_title(group)}\nAttitude (0-10)" if len(groups) > 1 else "Attitude (0-10)")


def _panel(axis: Axes, tables: Tables, points: pd.DataFrame, topic: str, group: str) -> None:
    for seat, line in points.groupby("seat", sort=False):
        style = STYLES.get(str(line["party"].iloc[0]), OTHER)
        number = int(str(seat).split()[-1]) - 1 if str(seat).split()[-1].isdigit() else 0
        fewest, most = line["n"].min(), line["n"].max()
        rooms = most if fewest == most else f"{fewest}-{most}"
        axis.errorbar(
            line["iteration"], line["mean"], yerr=line["se"].fillna(0), label=f"{str(seat).title()} (n={rooms})", color=style["color"],
            linestyle=style["linestyle"], marker=style["markers"][number % 4], markersize=4, capsize=2, linewidth=1.2,
            markerfacecolor="white" if number % 2 else style["color"],
        )  # fmt: skip
    if "default" not in set(points["party"]):
        level = default_level(tables, topic, group)
        if level is not None:
            axis.axhline(
                level, color=STYLES["default"]["color"], linestyle=(0, (6, 3)), linewidth=1.1, label="Default, before"
            )
    axis.set_ylim(-0.3, 10.3)
    axis.set_yticks(range(0, 11, 2))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.6)
