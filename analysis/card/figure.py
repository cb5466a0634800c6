"""Figures of cards: the attitudes of the roles, and how conditions differ from controls; cards or remedies side by side.

Colour, marker and filling say the same, so that a figure can be read in grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from parley.agents.society import DEFAULT, Society
from parley.agents.topic import load_topic
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate
from parley.analysis.card.labels import NAMES, ends
from parley.analysis.card.sections import neutral_named
from parley.analysis.card.sections.null_conditions import EFFECTS
from parley.analysis.figures import draw_null, new_figure, styles_by_party
from parley.analysis.statistics.intervals import SCALE, Ends

AWAY = ("first_away", "second_away")
"""Quantities of the two parties, which are counted from the Default's answer."""
NEUTRAL: dict[str, Any] = {"color": "#555555", "marker": "d"}
LEVEL: dict[str, Any] = {"color": "#000000", "marker": "^", "markerfacecolor": "none"}
CONDITION: dict[str, Any] = {"color": "#000000", "marker": "o"}
CONTROL: dict[str, Any] = {"color": "#c77b00", "marker": "D", "markerfacecolor": "none"}
WIDE, ROW, LEAST, SIZE = 9.4, 0.5, 2.6, 9
ALONE = 0.6
"""The share of the width that a panel without its neighbour has."""
LONGEST = 20
"""Letters of a topic in one line."""


def forest_plot(claims: Sequence[CardEstimate], society: Society, topics: Sequence[str], caption: str) -> Figure:
    """Left one row per topic, right one row per condition with its control; a panel whose section was not run is left out."""
    drawn = panels_of(claims, society)
    rows = max(len(topics) * ("levels" in drawn), len(EFFECTS) * ("effects" in drawn))
    title, width = "Where the model leans, and how far debates move agents", WIDE * (1 if len(drawn) > 1 else ALONE)
    with new_figure(width, max(LEAST, ROW * rows + 1.5), caption, SIZE, title) as figure:
        for axis, panel in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
            if panel == "levels":
                _draw_levels(axis, claims, society, topics)
            else:
                _draw_effects(axis, claims, society)
    return figure


def panels_of(claims: Sequence[CardEstimate], society: Society) -> list[str]:
    """Return the panels of the figure whose quantities were looked for, `levels` and `effects`; both where none was."""
    quantities = {claim.quantity for claim in claims}
    names = {"levels": set(kinds(society)), "effects": set(EFFECTS)}
    return [panel for panel, wanted in names.items() if quantities & wanted] or [*names]


def kinds(society: Society) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is drawn on the left: by quantity its title and look. The parties have the looks of their society."""
    styles = styles_by_party(society.debaters, society.header_entries(society.debaters)).values()
    looks = [{"color": style["color"], "marker": style["markers"][0]} for style in styles]
    parties = zip(map(society.plural, society.debaters), looks, strict=True)
    others = {"default": (society.label(DEFAULT), NEUTRAL), "level": ("the model's own opinion (fitted)", LEVEL)}
    return dict(zip(AWAY, parties, strict=True)) | others


def _draw_levels(axis: Axes, claims: Sequence[CardEstimate], society: Society, topics: Sequence[str]) -> None:
    for row, topic in enumerate(topics):
        default = find_estimate(claims, "default", topic)
        for place, (quantity, (title, look)) in enumerate(kinds(society).items()):
            if (claim := find_estimate(claims, quantity, topic)) is not None:
                base = default.estimate if default and quantity in AWAY else 0.0
                _draw_claim(axis, claim, base, row + 0.16 * (place - 1.5), look, title if row == 0 else "", SCALE)
    _name_rows(axis, [fill(load_topic(topic).heading, LONGEST) for topic in topics])
    _scale(axis, topics)
    axis.set_xlabel("Ratings before any debate (points). Bars: 95% intervals.", fontsize=SIZE)
    _legend(axis)


def _scale(axis: Axes, topics: Sequence[str]) -> None:
    """The axis from 0 to 10, with the meaning of its ends."""
    axis.set_xlim(-0.2, 10.2)
    low, high = ends(topics)
    axis.set_xticks(range(0, 11, 2), [f"0\n{low}", *map(str, range(2, 10, 2)), f"10\n{high}"], fontsize=SIZE)
    axis.get_xticklabels()[0].set_horizontalalignment("left")
    axis.get_xticklabels()[-1].set_horizontalalignment("right")


def _draw_effects(axis: Axes, claims: Sequence[CardEstimate], society: Society) -> None:
    """A condition is drawn at the control plus the difference; its bar is the interval of the difference."""
    for row, name in enumerate(EFFECTS):
        if claim := find_estimate(claims, name, ALL):
            labels = ("condition", "control") if row == 0 else ("", "")
            _draw_claim(axis, claim, claim.null, row - 0.12, CONDITION, labels[0])
            _draw_bar(axis, claim.null, None, row + 0.12, label=labels[1] or None, markersize=6, **CONTROL)
    draw_null(axis, upright=True)
    if not any(find_estimate(claims, name, ALL) for name in EFFECTS):  # matplotlib would make up an axis from 0 to 1
        axis.set_xticks([])
        axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", va="center", fontsize=SIZE)
    _name_rows(axis, [f"● {NAMES[condition]}\n◇ {NAMES[control]}" for condition, control in EFFECTS.values()])
    axis.tick_params(axis="x", labelsize=SIZE)
    title = neutral_named(
        "Points moved toward the Default's answer.\nThe bar is the 95% interval of the difference.", society
    )
    axis.set_xlabel(title, fontsize=SIZE)
    _legend(axis)


def _draw_claim(
    axis: Axes,
    claim: CardEstimate,
    base: float,
    row: float,
    look: dict[str, Any],
    label: str,
    bounds: Ends = (-math.inf, math.inf),
) -> None:
    """Draw an estimate above a base. bounds: of the scale, with which its bar ends."""
    reach = claim.estimate - claim.low, claim.high - claim.estimate
    value = base + claim.estimate
    reach = min(reach[0], value - bounds[0]), min(reach[1], bounds[1] - value)
    _draw_bar(axis, value, reach, row, label=label or None, markersize=6, elinewidth=1.4, **look)


def _draw_bar(axis: Axes, value: float, reach: tuple[float, float] | None, row: float, **look: Any) -> None:
    """A marker at a value, with a bar that reaches so far below and above it; no bar where an end is missing."""
    has_ends = reach is not None and all(map(math.isfinite, reach))
    bar = [[max(end, 0.0)] for end in reach] if reach and has_ends else None
    axis.errorbar([value], [row], xerr=bar, linestyle="none", **look)


def _name_rows(axis: Axes, names: Sequence[str]) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=SIZE)
    axis.set_ylim(len(names) - 0.4, -0.6)


def _legend(axis: Axes) -> None:
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=SIZE, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


MARKERS, COLOURS = "osd^vP*X", ("#1b1b1f", "#c77b00", "#1f5fa8", "#00785a", "#a8508a", "#8a5a00", "#777777", "#c1272d")


class Point(NamedTuple):
    """An estimate with its interval (NaN: none); its marker is filled or hollow."""

    row: int
    value: float
    low: float
    high: float
    filled: bool = True


class Panel(NamedTuple):
    """The estimates of one quantity. below: the meaning of the axis. share: whether it is in percent. none: its value without
    an effect, which is 1 for a ratio.
    """

    title: str
    points: Sequence[Point]
    below: str = ""
    share: bool = False
    none: float = 0.0


def panel_figure(panels: Sequence[Panel], rows: Sequence[str], note: str, title: str) -> Figure:
    """Two lines of panels with no effect marked; a panel without a point says so, and has no axis."""
    with new_figure(WIDE, 2 * (ROW * len(rows) + 1.2), note, SIZE, title) as drawn:
        axes = drawn.subplots(2, math.ceil(len(panels) / 2), sharey=True)
        for axis, panel in zip(axes.flat, panels, strict=True):
            _draw_panel(axis, panel)
            axis.set_yticks(range(len(rows)), rows)
            axis.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    return drawn


def _draw_panel(axis: Axes, panel: Panel) -> None:
    drawable = [point for point in panel.points if math.isfinite(point.value)]
    for point in drawable:
        colour, marker = COLOURS[point.row % len(COLOURS)], MARKERS[point.row % len(MARKERS)]
        look = {"color": colour, "marker": marker, "markerfacecolor": colour if point.filled else "white"}
        _draw_bar(
            axis, point.value, (point.value - point.low, point.high - point.value), point.row, markersize=5, **look
        )
    if drawable:
        draw_null(axis, panel.none, upright=True)
    else:
        axis.text(0.5, 0.5, "no number", transform=axis.transAxes, ha="center", color="#555555", fontsize=SIZE)
        axis.xaxis.set_visible(False)
    axis.set_title(panel.title, fontsize=SIZE)
    axis.set_xlabel(panel.below, fontsize=SIZE)
    axis.locator_params(axis="x", nbins=3)
    axis.tick_params(labelsize=SIZE)
    if panel.share:
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
