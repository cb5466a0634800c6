"""The figure of a card: where everybody stands, each condition beside its control. Colour, marker and filling say the same.

A figure with a panel a quantity and in each a row a card or a remedy, which has its colour and its marker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from parley.agents.topic import load_topic
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate
from parley.analysis.card.labels import NAMES, ends
from parley.analysis.card.sections.null_conditions import EFFECTS
from parley.analysis.figures import STYLES, new_figure

KINDS: dict[str, dict[str, Any]] = {
    "Republicans": {"color": STYLES["republican"]["color"], "marker": "s"},
    "Democrats": {"color": STYLES["democrat"]["color"], "marker": "o"},
    "Default": {"color": "#555555", "marker": "d"},
    "the model's own level (fitted)": {"color": "#000000", "marker": "^", "markerfacecolor": "none"},
}
CLAIMS = dict(zip(KINDS, ("republican_away", "democrat_away", "default", "level"), strict=True))
CONDITION: dict[str, Any] = {"color": "#000000", "marker": "o"}
CONTROL: dict[str, Any] = {"color": "#c77b00", "marker": "D", "markerfacecolor": "none"}
WIDE, ROW, LEAST, SIZE = 9.4, 0.5, 2.6, 9


def forest_plot(claims: Sequence[CardEstimate], topics: Sequence[str], caption: str) -> Figure:
    """Left a row a topic, right a row a condition with its control."""
    rows = max(len(topics), len(EFFECTS))
    with new_figure(WIDE, max(LEAST, ROW * rows + 1.5), caption, SIZE) as figure:
        left, right = figure.subplots(1, 2)
        _levels(left, claims, topics)
        _effects(right, claims)
    return figure


def _levels(axis: Axes, claims: Sequence[CardEstimate], topics: Sequence[str]) -> None:
    for row, topic in enumerate(topics):
        own = find_estimate(claims, "default", topic)
        for place, (kind, look) in enumerate(KINDS.items()):
            claim = find_estimate(claims, CLAIMS[kind], topic)
            if claim is not None:
                base = own.estimate if own and kind in ("Republicans", "Democrats") else 0.0
                _bar(axis, claim, base, row + 0.16 * (place - 1.5), look, kind if row == 0 else "")
    _rows(axis, [load_topic(topic).heading for topic in topics])
    _scale(axis, topics)
    axis.set_xlabel("Ratings before any debate (points). Bars: 95% intervals.", fontsize=SIZE)
    _legend(axis)


def _scale(axis: Axes, topics: Sequence[str]) -> None:
    """0 to 10, with what the ends mean."""
    axis.set_xlim(-0.2, 10.2)
    low, high = ends(topics)
    axis.set_xticks(range(0, 11, 2), [f"0\n{low}", *map(str, range(2, 10, 2)), f"10\n{high}"], fontsize=SIZE)
    axis.get_xticklabels()[0].set_horizontalalignment("left")
    axis.get_xticklabels()[-1].set_horizontalalignment("right")


def _effects(axis: Axes, claims: Sequence[CardEstimate]) -> None:
    """The condition is the control and the difference; the bar is the interval of the difference."""
    for row, name in enumerate(EFFECTS):
        claim = find_estimate(claims, name, ALL)
        if claim:
            named = ("condition", "control") if row == 0 else ("", "")
            _bar(axis, claim, claim.null, row - 0.12, CONDITION, named[0])
            _mark(axis, claim.null, None, row + 0.12, CONTROL, named[1])
    axis.axvline(0, color="#999999", linewidth=0.6)
    _rows(axis, [f"● {NAMES[of]}\n◇ {NAMES[null]}" for of, null in EFFECTS.values()])
    axis.tick_params(axis="x", labelsize=SIZE)
    axis.set_xlabel("Points moved toward the Default's answer.\nBar: 95% interval of the difference.", fontsize=SIZE)
    _legend(axis)


def _bar(axis: Axes, claim: CardEstimate, base: float, at: float, look: dict[str, Any], label: str) -> None:
    value = base + claim.estimate
    reach = [[max(claim.estimate - claim.low, 0.0)], [max(claim.high - claim.estimate, 0.0)]]
    known = all(math.isfinite(end[0]) for end in reach)
    _mark(axis, value, reach if known else None, at, look, label)


def _mark(
    axis: Axes, value: float, reach: list[list[float]] | None, at: float, look: dict[str, Any], label: str
) -> None:
    axis.errorbar(
        [value],
        [at],
        xerr=reach,
        linestyle="none",
        markersize=6,
        elinewidth=1.4,
        label=label or None,
        **look,
    )


def _rows(axis: Axes, names: Sequence[str]) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=SIZE)
    axis.set_ylim(len(names) - 0.4, -0.6)


def _legend(axis: Axes) -> None:
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=SIZE, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


MARKERS, COLOURS = "osd^vP*X", ("#1b1b1f", "#c77b00", "#1f5fa8", "#00785a", "#a8508a", "#8a5a00", "#777777", "#c1272d")


class Point(NamedTuple):
    """An estimate with its interval (NaN: there is none), and whether it is drawn `filled`."""

    row: int
    value: float
    low: float
    high: float
    filled: bool = True


class Panel(NamedTuple):
    """What is drawn of a quantity; `below`: what its axis means; `share`: in percent."""

    title: str
    points: Sequence[Point]
    below: str = ""
    share: bool = False


def panel_figure(shown: Sequence[Panel], rows: Sequence[str], caption: str) -> Figure:
    """Two lines of panels, 0 marked; one without a point says so."""
    with new_figure(WIDE, 2 * (ROW * len(rows) + 1.2)) as drawn:
        axes = drawn.subplots(2, math.ceil(len(shown) / 2), sharey=True)
        for axis, panel in zip(axes.flat, shown, strict=True):
            _panel(axis, panel)
            axis.set_yticks(range(len(rows)), rows)
            axis.set_ylim(max(len(rows), 1) - 0.5, -0.5)
        drawn.supxlabel(caption, fontsize=SIZE)
    return drawn


def _panel(axis: Axes, panel: Panel) -> None:
    known = [point for point in panel.points if math.isfinite(point.value)]
    for point in known:
        _error_bar(axis, point)
    if not known:
        axis.text(0.5, 0.5, "no number", transform=axis.transAxes, ha="center", color="#555555", fontsize=SIZE)
    else:
        axis.axvline(0, color="#999999", linewidth=0.6)
    axis.set_title(panel.title, fontsize=SIZE)
    axis.set_xlabel(panel.below, fontsize=SIZE)
    axis.locator_params(axis="x", nbins=3)
    axis.tick_params(labelsize=SIZE)
    if panel.share:
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def _error_bar(axis: Axes, point: Point) -> None:
    reach = [[max(point.value - point.low, 0.0)], [max(point.high - point.value, 0.0)]]
    colour = COLOURS[point.row % len(COLOURS)]
    axis.errorbar(
        [point.value],
        [point.row],
        xerr=reach if math.isfinite(point.high - point.low) else None,
        color=colour,
        marker=MARKERS[point.row % len(MARKERS)],
        markerfacecolor=colour if point.filled else "white",
        markersize=5,
    )
