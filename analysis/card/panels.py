"""A figure with a panel a quantity and in each a row a card or a remedy, which has its colour and its marker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from parley.analysis.card.figure import ROW, SIZE, WIDE
from parley.analysis.plots import style

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


def panels(shown: Sequence[Panel], rows: Sequence[str], caption: str) -> Figure:
    """Two lines of panels, 0 marked; one without a point says so."""
    with style():
        drawn = Figure(figsize=(WIDE, 2 * (ROW * len(rows) + 1.2)), layout="constrained")
        FigureCanvasAgg(drawn)
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
        _bar(axis, point)
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


def _bar(axis: Axes, point: Point) -> None:
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
