"""What no figure may show: labels over each other, a bar beyond the scale, numbers on an axis that nothing is drawn on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from parley.analysis.figures import NULL

TOUCH = 0.75
"""Points by which two labels may meet: boxes of letters are larger than the letters."""
DIFFERENCE = re.compile(r"\b(difference|minus|ratio)\b", re.IGNORECASE)
"""What the label of an axis says whose values have a null: 0, or of a ratio 1."""
RATINGS = (0.0, 10.0)
OUTER = 0.6
"""Points that an axis of ratings has beyond the scale, so that markers at its ends are whole."""


def faults(figure: Figure) -> list[str]:
    """Return what is wrong with a figure that is laid out."""
    return [
        fault
        for axis in figure.axes
        if axis.get_visible()
        for fault in (*_ticks(axis), *_bars(axis), *_empty(axis), *_null(axis))
    ]


def _null(axis: Axes) -> Iterator[str]:
    """Yield that an axis of differences has no line of no effect, or that such a line is outside what is shown."""
    lines = [line for line in axis.lines if line.get_gid() == NULL]
    for name, limits, label in (("x", axis.get_xlim(), axis.get_xlabel()), ("y", axis.get_ylim(), axis.get_ylabel())):
        ends = [(line.get_xdata() if name == "x" else line.get_ydata()) for line in lines]
        nulls = [float(first) for first, last in ends if first == last]
        low, high = sorted(limits)
        if axis.has_data() and DIFFERENCE.search(label) and not nulls:
            yield f"no line of no effect on the {name} axis: {label}"
        if any(not low <= null <= high for null in nulls):
            yield f"the line of no effect on the {name} axis is outside: {nulls}, {low:g} to {high:g}"


def _ticks(axis: Axes) -> Iterator[str]:
    renderer: Any = axis.get_figure(root=True).canvas.get_renderer()  # type: ignore[union-attr]
    for name, line, side in (("x", axis.xaxis, 0), ("y", axis.yaxis, 1)):
        if not line.get_visible():
            continue
        low, high = sorted(line.get_view_interval())
        ticks = [tick for tick in line.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9]
        labels = [tick.label1 for tick in ticks if tick.label1.get_visible() and tick.label1.get_text()]
        near = TOUCH * axis.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
        for height in {
            label.get_text().count("\n") for label in labels
        }:  # a long second line may pass under a short label
            alike = [label for label in labels if label.get_text().count("\n") == height]
            boxes = [label.get_window_extent(renderer) for label in alike]
            boxes.sort(key=lambda box: box.get_points()[0][side])
            if any(_overlap(one, other, near) for one, other in pairwise(boxes)):
                yield f"labels of {name} ticks lie over each other: {[label.get_text() for label in alike]}"


def _overlap(one: Bbox, other: Bbox, near: float) -> bool:
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    tall = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(wide > near and tall > near)


def _bars(axis: Axes) -> Iterator[str]:
    """Yield that a bar or an area on an axis of ratings ends beyond the scale."""
    for name, limits, side in (("x", axis.get_xlim(), 0), ("y", axis.get_ylim(), 1)):
        low, high = sorted(limits)
        if not (-OUTER <= low <= RATINGS[0] and RATINGS[1] <= high <= RATINGS[1] + OUTER):
            continue
        ends = [end for drawn in axis.collections if isinstance(drawn, LineCollection) for end in _ends(drawn, side)]
        if ends and (min(ends) < RATINGS[0] - 1e-6 or max(ends) > RATINGS[1] + 1e-6):
            yield f"a bar of {name} reaches from {min(ends):.2f} to {max(ends):.2f} on a scale from 0 to 10"


def _ends(drawn: LineCollection, side: int) -> Sequence[float]:
    points = [segment for segment in drawn.get_segments() if len(segment)]
    values = np.concatenate(points)[:, side] if points else np.array([])
    return [float(value) for value in values[np.isfinite(values)]]


def _empty(axis: Axes) -> Iterator[str]:
    drawn = axis.has_data() or axis.images or axis.patches
    if (
        not drawn
        and axis.xaxis.get_visible()
        and axis.axison
        and len(axis.get_xticks())
        and axis.get_xlim() == (0.0, 1.0)
    ):
        yield f"an axis from 0 to 1 is made up where nothing is drawn: {axis.get_title() or axis.get_xlabel()}"
