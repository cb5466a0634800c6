"""Figures in the paper's layout: attitude 0-10 by number of replies, one panel a topic, R red, D blue, Default neutral.

Party is told by colour, marker and line style alike, so that the figure reads without colour. Bars are standard errors over
rooms. The dashed line is the Default's level before the debates where no Default takes part (Figs 4 and 8); the legend
says of how many agents a panel. A population has a line for each party and two thin ones around it, between which half of its
people are (`party_means`). An upright line is an intervention. Sizes are those of print: 3.5 inches for one panel a row (a
column of a page), 7 for more (its width).

Populations: where a group has too many seats for a line each, its figure has one for each party.

The figure of who believes an item of news: believers and others by step, with what came from outside.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import (
    LABELLED,
    OTHERS,
    STYLES,
    legend_entries,
    make_canvas,
    new_figure,
    save,
    style,
    styles_of_run,
)
from parley.analysis.formatting import format_range, group_title, seat_title, slug
from parley.analysis.metrics._cells import DEFAULT, Level, default_level
from parley.analysis.tables import Tables

LEVEL: Any = {"color": STYLES[DEFAULT]["color"], "linestyle": (0, (6, 3)), "linewidth": 1.0}
MARK: Any = {"color": "#555555", "linestyle": "-", "linewidth": 0.6, "zorder": 0.5}
LEFT, NAMED, RIGHT, GAP, ROW_GAP, BOTTOM, ENTRY = 0.45, 0.85, 0.1, 0.13, 0.45, 0.59, 0.16
"""Inches: left of the panels (labels; with group names), right of them, between columns, between rows, under the panels
without the legend, for a row of the legend."""


def run_figures(tables: Tables, points: pd.DataFrame, caption: str) -> dict[str, Callable[[], Figure]]:
    """The attitude figures of a run by name: all groups and topics first, then each group, where there are several.

    A figure is drawn when its entry is called. points: the trajectory metric.
    """
    drawn: dict[str, Callable[[], Figure]] = {"attitudes": partial(attitudes, tables, points, tables.groups, caption)}
    for group in tables.groups if len(tables.groups) > 1 else ():
        titled = f"{group_title(group, tables.names)}. {caption}"
        drawn[f"attitudes_{slug(group)}"] = partial(attitudes, tables, points, [group], titled)
    return drawn


def write_figures(tables: Tables, points: pd.DataFrame, folder: Path, caption: str) -> Path:
    """Write the attitude figures of a run, each as PNG and SVG; the path of the main one (all groups and topics)."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [save(draw(), folder / name) for name, draw in run_figures(tables, points, caption).items()]
    return written[0]


def attitudes(tables: Tables, points: pd.DataFrame, groups: Sequence[str], caption: str) -> Figure:
    """Rows are groups, columns topics; one group alone has up to three topics a row, and four two by two."""
    panels = [(group, topic) for group in groups for topic in tables.topics]
    rows, columns = _grid(len(groups), len(tables.topics))
    shown = [_points(tables, points, group, topic) for group, topic in panels]
    levels = [_level(tables, topic, group, lines) for (group, topic), lines in zip(panels, shown, strict=True)]
    dashed = f"Default, before (n={format_range(level.n for level in levels if level)})"
    seats = pd.unique(pd.concat([lines["seat"] for lines in shown]))
    looks = styles_of_run(tables)
    half = [HALF] if any("low" in lines for lines in shown) else []
    labels = [*(seat_title(str(seat), tables.names) for seat in seats), *half, *([dashed] if any(levels) else [])]
    with style():
        figure, axes = _canvas(rows, columns, NAMED if len(groups) > 1 else LEFT, caption, labels)
        for axis, lines, level in zip(axes, shown, levels, strict=False):
            _panel(axis, lines, looks, tables.names)
            if level:
                axis.axhline(level.value, label=dashed, **LEVEL)
        for axis, (group, topic) in zip(axes, panels, strict=False):
            mark(axis, tables, group, topic)
        _label(axes, tables, groups, columns)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        _legend(figure, axes)
    return figure


def mark(axis: Axes, tables: Tables, group: str, topic: str) -> None:
    """A line before the first reply after each intervention; the first of a kind is named."""
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
    """The points of a panel, by seat; of a population, by party."""
    crowd = party_means(tables, topic, group)
    return points[(points["group"] == group) & (points["topic"] == topic)] if crowd is None else crowd


def _grid(groups: int, topics: int) -> tuple[int, int]:
    if groups > 1:
        return groups, topics
    columns = 2 if topics == 4 else min(topics, 3)
    return math.ceil(topics / max(columns, 1)), columns


def _level(tables: Tables, topic: str, group: str, lines: pd.DataFrame) -> Level | None:
    """The level of the dashed line; None where a Default takes part."""
    return None if DEFAULT in set(lines["party"]) else default_level(tables, topic, group)


def _canvas(rows: int, columns: int, left: float, caption: str, labels: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure with room for caption, labels and a legend with these labels, and its panels row by row."""
    width = {1: 3.5, 2: 5.2}.get(columns, 7.0 if columns < 5 else 1.75 * columns)
    title = textwrap.fill(caption, int(width * 16))
    top = 0.36 + 0.13 * (title.count("\n") + 1)
    across = (width - left - RIGHT - GAP * (columns - 1)) / columns
    tall = min(max(across, 1.35), 2.2)
    bottom = BOTTOM + ENTRY * math.ceil(len(labels) / _across(width, labels))
    height = top + bottom + rows * tall + (rows - 1) * ROW_GAP
    figure = make_canvas(width, height)
    edges = {"left": left / width, "right": 1 - RIGHT / width, "top": 1 - top / height, "bottom": bottom / height}
    spaces = {"wspace": GAP / across, "hspace": ROW_GAP / tall}
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False, gridspec_kw={**edges, **spaces})
    figure.text(0.5, 1 - 0.06 / height, title, ha="center", va="top")
    below = (bottom - 0.39) / height
    figure.text((left + width - RIGHT) / 2 / width, below, "Number of replies", ha="center", va="bottom")
    return figure, list(grid.flat)


def _across(width: float, labels: Sequence[str]) -> int:
    """How many entries of the legend fit beside each other, the longest of them too (0.055 inches a letter of 7 points)."""
    needed = accumulate(0.46 + 0.055 * length for length in sorted(map(len, labels), reverse=True))
    return max(1, sum(end - 0.11 <= width for end in needed))


def _label(axes: Sequence[Axes], tables: Tables, groups: Sequence[str], columns: int) -> None:
    """Titles over the first row (over every panel of one group alone); the group's name at the left of its row."""
    for axis, topic in zip(axes, tables.topics, strict=False):
        axis.set_title(tables.title(topic))
    for row, axis in enumerate(axes[::columns]):
        name = f"{textwrap.fill(group_title(groups[row], tables.names), 18)}\n" if len(groups) > 1 else ""
        axis.set_ylabel(f"{name}Attitude (0–10)")


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend under all panels, each line once."""
    handles, labels = legend_entries(axes)
    columns = _across(figure.get_figwidth(), labels)
    figure.legend(handles, labels, loc="lower center", ncols=columns, frameon=False, fontsize=7, borderaxespad=0.2)


def _panel(axis: Axes, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> None:
    for (seat, party), line in points.groupby(["seat", "party"], sort=False):
        style, name = looks[party], seat_title(str(seat), names)
        axis.errorbar(
            line["iteration"], line["mean"], yerr=line["se"].fillna(0), label=name,
            **_look(style, str(seat)), capsize=2, elinewidth=0.8, capthick=0.8, linewidth=1.0,
        )  # fmt: skip
        thin: Any = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 0.4, "label": HALF}
        for end in ("low", "high") if "low" in line else ():
            axis.plot(line["iteration"], line[end], **thin)
        if len(looks) > LABELLED and (there := line.dropna(subset="mean")) is not None and len(there):
            axis.annotate(
                f" {name}", there[["iteration", "mean"]].iloc[-1], fontsize=5, va="center", annotation_clip=False
            )
    if not points["n"].sum():
        axis.text(0.5, 0.5, "no ratings", transform=axis.transAxes, ha="center", va="center")
    axis.set_ylim(-0.3, 10.3)
    axis.set_yticks(range(0, 11, 2))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
    axis.set_axisbelow(True)


def _look(style: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """Colour and line of the party; the seat's number chooses marker and filling: eight seats of a party look different.

    Open markers are larger, so that they ring a filled one that lies under them.
    """
    last = seat.split()[-1]
    number = int(last) - 1 if last.isdigit() else 0
    return {
        "color": style["color"],
        "linestyle": style["linestyle"],
        "marker": style["markers"][number // 2 % 4],
        "markerfacecolor": "none" if number % 2 else style["color"],
        "markersize": 5.4 if number % 2 else 3.4,
        "markeredgewidth": 0.8,
    }


SEATS = 8
"""Up to so many seats of a party have a line each: more cannot be told apart (`party_means`)."""
HALF = "Half of a party"
"""What the thin lines mean."""


def party_means(tables: Tables, topic: str, group: str) -> pd.DataFrame | None:
    """The points of a crowded panel, None where seats have a line each.

    One row a party and round: seat (the party), party, round, iteration (replies so far, mean over rooms), n (rooms rated), mean
    and se (over the rooms' means), low and high (quartiles over all agents), all on 0-10.
    """
    seats = tables.agents[tables.agents["group"] == group]
    if not seats.groupby("party")["seat"].nunique().max() > SEATS:
        return None
    ratings = tables.attitudes[(tables.attitudes["group"] == group) & (tables.attitudes["topic"] == topic)]
    keys = ["party", "round"]
    rooms = ratings.groupby([*keys, "room"], sort=False)["attitude"].mean().groupby(keys, sort=False)
    points = rooms.agg(n="count", mean="mean", sd="std")
    people = ratings.groupby(keys, sort=False)
    points = points.assign(
        iteration=people["iteration"].mean(),
        low=people["attitude"].quantile(0.25),
        high=people["attitude"].quantile(0.75),
        se=points["sd"] / points["n"] ** 0.5,
    ).reset_index()
    return points.assign(seat=points["party"])


LOOKS: dict[str, Any] = {
    "infected": {"color": OTHERS[0]["color"], "marker": "s", "linestyle": "-"},
    "susceptible": {"color": OTHERS[1]["color"], "marker": "o", "linestyle": "--"},
}


def contagion_figure(tables: Tables, found: pd.DataFrame) -> Figure:
    """A panel a topic and group. found: the metric sis; bars are its intervals, upright lines interventions."""
    scenario, rooms = tables.header.scenario, format_range(found["rooms"])
    told = f"{scenario['name']} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}: means over {rooms} rooms"
    panels = list(found.groupby(["topic", "group"], sort=False))
    with new_figure(max(2.4 * len(panels) + 0.6, 3.5), 2.8, f"{told}, bars are 95% intervals over rooms") as drawn:
        axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, ((topic, group), points) in zip(axes, panels, strict=True):
            _contagion_panel(axis, points)
            here = tables.interventions[
                (tables.interventions["topic"] == topic) & (tables.interventions["group"] == group)
            ]
            for round_ in sorted(here["round"].unique()):
                axis.axvline(round_ - 0.5, **MARK)
            named = f"\n{group_title(group, tables.names)}" if len({group for (_, group), _ in panels}) > 1 else ""
            axis.set_title(f"{tables.title(topic)}{named}")
        axes[0].set_ylabel("People of a room")
        drawn.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=7
        )
    return drawn


def _contagion_panel(axis: Axes, points: pd.DataFrame) -> None:
    for name, look in LOOKS.items():
        low, high = (points[name] - points[f"{name}_low"]).fillna(0), (points[f"{name}_high"] - points[name]).fillna(0)
        axis.errorbar(
            points["round"], points[name], yerr=[low, high], label=name.title(), markersize=3.5, linewidth=1.0,
            capsize=2, elinewidth=0.8, **look,
        )  # fmt: skip
    axis.set_ylim(bottom=0)
    axis.set_xlabel("Step")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
