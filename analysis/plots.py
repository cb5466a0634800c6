"""Attitude figures in the paper's layout, and the figure of who believes an item of news.

An attitude figure shows attitude 0-10 by number of replies, a panel per topic, each party in the colour of its society.
Colour, marker and line style each identify a party, so that the figure can be read without colour. Bars are standard errors over
rooms. The dashed line is the Default's level before the debates when no Default takes part (Figs 4 and 8); the legend says over
how many agents. A group with many seats has a line per party, and two thin lines that enclose half of its agents
(`party_means`). A vertical line is an intervention. A figure with one panel per row is 3.5 inches wide (a column of a page), one
with more panels up to 7 (its width).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames
from parley.analysis import disclaimers, figures
from parley.analysis.figures import MARK, OTHERS, STYLES, add_legend, new_figure
from parley.analysis.formatting import format_range, group_title, seat_title, slug
from parley.analysis.metrics._cells import DEFAULT, Level, default_level
from parley.analysis.tables import Tables

LEVEL: Any = {"color": STYLES[DEFAULT]["color"], "linestyle": (0, (6, 3)), "linewidth": 1.0}
SEATS = 8
"""Up to this number of seats of a party each has a line (`party_means`)."""
HALF = "Half of a party"
"""The legend's entry for the thin lines."""
BELIEF_LOOKS: dict[str, dict[str, Any]] = {
    "infected": {"color": OTHERS[0]["color"], "marker": "s", "linestyle": "-"},
    "susceptible": {"color": OTHERS[1]["color"], "marker": "o", "linestyle": "--"},
}


def run_figures(tables: Tables, points: pd.DataFrame, caption: str) -> dict[str, Callable[[], Figure]]:
    """Return the attitude figures of a run by name: all groups first, then each of several groups. points: trajectory metric.

    A figure is drawn when its entry is called.
    """
    drawn: dict[str, Callable[[], Figure]] = {"attitudes": partial(attitudes, tables, points, tables.groups, caption)}
    for group in tables.groups if len(tables.groups) > 1 else ():
        titled = f"{group_title(group, tables.names)}. {caption}"
        drawn[f"attitudes_{slug(group)}"] = partial(attitudes, tables, points, [group], titled)
    return drawn


def write_figures(tables: Tables, points: pd.DataFrame, folder: Path, caption: str) -> Path:
    """Write the attitude figures of a run as PNG and SVG; return the path of the main one (all groups and topics)."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [figures.save(draw(), folder / name) for name, draw in run_figures(tables, points, caption).items()]
    return written[0]


def attitudes(tables: Tables, points: pd.DataFrame, groups: Sequence[str], caption: str) -> Figure:
    """Draw a row per group and a column per topic; a single group has up to three topics per row, and four two by two."""
    panels = [(group, topic) for group in groups for topic in tables.topics]
    lines = [_points(tables, points, *panel) for panel in panels]
    levels = [_level(tables, *panel, rows) for panel, rows in zip(panels, lines, strict=True)]
    dashed = f"Default, before (n={format_range(level.n for level in levels if level)})"
    rows, columns = _grid(len(groups), len(tables.topics))
    width = {1: 3.5, 2: 5.2}.get(columns, 7.0 if columns < 5 else 1.75 * columns)
    looks = figures.styles_of_run(tables)
    with new_figure(width, 1.0, caption) as figure:
        axes = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
        for axis, panel, points_, level in zip(axes, panels, lines, levels, strict=False):
            _plot_lines(axis, points_, looks, tables.names)
            if level:
                axis.axhline(level.value, label=dashed, **LEVEL)
            mark(axis, tables, *panel)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        _label(axes[: len(panels)], tables, groups, columns)
        labels = figures.legend_entries(axes)[1]
        across = _legend_columns(width, labels)
        add_legend(figure, axes, across)
        tall = 0.45 + min(max(width / columns - 0.2, 1.35), 2.2)
        text = 0.13 * len(caption) / (14 * width) + 0.16 * math.ceil(len(labels) / across)
        figure.set_figheight(rows * tall + text + 0.5)
    return figure


def _label(axes: Sequence[Axes], tables: Tables, groups: Sequence[str], columns: int) -> None:
    """Set titles over the first row (of one group: over every panel), and the group's name at the left of its row."""
    for axis, topic in zip(axes, tables.topics, strict=False):
        axis.set_title(tables.title(topic))
    for axis in axes[-columns:]:
        axis.set_xlabel("Number of replies")
    for row, axis in enumerate(axes[::columns]):
        name = f"{fill(group_title(groups[row], tables.names), 18)}\n" if len(groups) > 1 else ""
        axis.set_ylabel(f"{name}Attitude (0–10)")


def mark(axis: Axes, tables: Tables, group: str, topic: str) -> None:
    """Draw a line before the first reply after each intervention; the first of a kind is named."""
    here = tables.interventions[(tables.interventions["group"] == group) & (tables.interventions["topic"] == topic)]
    turns = tables.utterances[(tables.utterances["group"] == group) & (tables.utterances["topic"] == topic)]
    named: set[str] = set()
    for round_, kinds in here.groupby("round")["what"]:
        before = turns[turns["round"] < round_].groupby("room")["iteration"].max()
        at = (0.0 if before.empty else float(before.mean())) + 0.5
        axis.axvline(at, **MARK)
        if fresh := [kind for kind in kinds.unique() if kind not in named]:
            axis.text(at, 10.2, f" {', '.join(fresh)}", fontsize=5.5, va="top", color=MARK["color"], zorder=3)
        named |= set(fresh)


def _points(tables: Tables, points: pd.DataFrame, group: str, topic: str) -> pd.DataFrame:
    """Return the points of a panel, by seat; of a population, by party."""
    means = party_means(tables, topic, group)
    return points[(points["group"] == group) & (points["topic"] == topic)] if means is None else means


def _grid(groups: int, topics: int) -> tuple[int, int]:
    if groups > 1:
        return groups, topics
    columns = 2 if topics == 4 else min(topics, 3)
    return math.ceil(topics / max(columns, 1)), columns


def _level(tables: Tables, group: str, topic: str, lines: pd.DataFrame) -> Level | None:
    """Return the level of the dashed line; None if a Default takes part."""
    return None if DEFAULT in set(lines["party"]) else default_level(tables, topic, group)


def _legend_columns(width: float, labels: Sequence[str]) -> int:
    """Return how many entries of the legend fit in a row, also the longest ones (0.055 inches a letter of 7 points)."""
    needed = accumulate(0.46 + 0.055 * length for length in sorted(map(len, labels), reverse=True))
    return max(1, sum(end - 0.11 <= width for end in needed))


def _plot_lines(axis: Axes, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], names: PartyNames) -> None:
    for (seat, party), line in points.groupby(["seat", "party"], sort=False):
        look, name = looks[party], seat_title(str(seat), names)
        axis.errorbar(
            line["iteration"], line["mean"], yerr=line["se"].fillna(0), label=name,
            **_seat_look(look, str(seat)), capsize=2, elinewidth=0.8, capthick=0.8, linewidth=1.0,
        )  # fmt: skip
        thin: Any = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 0.4, "label": HALF}
        for end in ("low", "high") if "low" in line else ():
            axis.plot(line["iteration"], line[end], **thin)
        read = line.dropna(subset="mean")
        if len(looks) > figures.LABELLED and len(read):
            end = read[["iteration", "mean"]].iloc[-1]
            axis.annotate(f" {name}", end, fontsize=5, va="center", annotation_clip=False)
    if not points["n"].sum():
        axis.text(0.5, 0.5, "no ratings", transform=axis.transAxes, ha="center", va="center")
    axis.set(ylim=(-0.3, 10.3), yticks=range(0, 11, 2))
    _style_axis(axis, 6)
    axis.set_axisbelow(True)


def _style_axis(axis: Axes, ticks: int) -> None:
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=ticks))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _seat_look(look: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """Return colour and line of the party, with the marker of the seat's number: eight seats of a party look different.

    Open markers are larger, so that they enclose a filled one behind them.
    """
    last = seat.split()[-1]
    number = int(last) - 1 if last.isdigit() else 0
    is_open = number % 2 == 1
    return {
        "color": look["color"],
        "linestyle": look["linestyle"],
        "marker": look["markers"][number // 2 % 4],
        "markerfacecolor": "none" if is_open else look["color"],
        "markersize": 5.4 if is_open else 3.4,
        "markeredgewidth": 0.8,
    }


def party_means(tables: Tables, topic: str, group: str) -> pd.DataFrame | None:
    """Return the points of a panel with many seats by party; None if each seat has a line.

    One row per party and round: seat (the party), party, round, iteration (replies so far, mean over rooms), n (rooms rated),
    mean and se (over the rooms' means), low and high (quartiles over all agents), all on 0-10.
    """
    seats = tables.agents[tables.agents["group"] == group]
    if not seats.groupby("party")["seat"].nunique().max() > SEATS:
        return None
    ratings = tables.attitudes[(tables.attitudes["group"] == group) & (tables.attitudes["topic"] == topic)]
    keys = ["party", "round"]
    rooms = ratings.groupby([*keys, "room"], sort=False)["attitude"].mean().groupby(keys, sort=False)
    agents = ratings.groupby(keys, sort=False)
    points = rooms.agg(n="count", mean="mean", sd="std").assign(
        iteration=agents["iteration"].mean(),
        low=agents["attitude"].quantile(0.25),
        high=agents["attitude"].quantile(0.75),
        se=lambda points: points["sd"] / points["n"] ** 0.5,
    )
    return points.reset_index().assign(seat=lambda points: points["party"])


def contagion_figure(tables: Tables, believers: pd.DataFrame) -> Figure:
    """Draw believers and others by step, a panel per topic and group. believers: the metric sis; bars are its intervals."""
    scenario, rooms = tables.header.scenario, format_range(believers["rooms"])
    run = f"{scenario['name']} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}: means over {rooms} rooms"
    panels = list(believers.groupby(["topic", "group"], sort=False))
    several, acts = believers["group"].nunique() > 1, tables.interventions
    with new_figure(max(2.4 * len(panels) + 0.6, 3.5), 2.8, f"{run}, bars are 95% intervals over rooms") as figure:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, ((topic, group), points) in zip(axes, panels, strict=True):
            for name, look in BELIEF_LOOKS.items():
                axis.errorbar(
                    points["round"], points[name], yerr=figures.error_bars(points, name), label=name.title(), markersize=3.5,
                    linewidth=1.0, capsize=2, elinewidth=0.8, **look,
                )  # fmt: skip
            for round_ in sorted(acts.loc[(acts["topic"] == topic) & (acts["group"] == group), "round"].unique()):
                axis.axvline(round_ - 0.5, **MARK)
            name = f"\n{group_title(group, tables.names)}" if several else ""
            axis.set_title(f"{tables.title(topic)}{name}")
            axis.set_xlabel("Step")
            axis.set_ylim(bottom=0)
            _style_axis(axis, 8)
        axes[0].set_ylabel("People of a room")
        add_legend(figure, axes[:1], 2)
    return figure
