"""The figure of a card: where everybody stands, what moves beside its null. Colour, marker and filling say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agents.topic import load_topic
from analysis.card.claims import ALL, Claim, find
from analysis.plots import STYLES, style

KINDS: dict[str, dict[str, Any]] = {
    "Republicans": {"color": STYLES["republican"]["color"], "marker": "s"},
    "Democrats": {"color": STYLES["democrat"]["color"], "marker": "o"},
    "the model itself": {"color": "#555555", "marker": "d"},
    "what pulls": {"color": "#000000", "marker": "^", "markerfacecolor": "none"},
}
EFFECTS = {
    "three_alone": "debate of three,\nless nobody speaks",
    "three_shuffled": "debate of three,\nless lines from elsewhere",
    "three_empty": "debate of three,\nless empty talk",
    "two_alone": "debate of two,\nless nobody speaks",
    "same_alone": "two of a party,\nless nobody speaks",
    "same_copy": "two of a party,\nless the own copy",
}
WIDE, ROW, LEAST = 7.0, 0.36, 2.2


def forest(claims: Sequence[Claim], topics: Sequence[str], caption: str) -> Figure:
    """Left a row a topic, right a row an effect; bars are 95% intervals."""
    with style():
        figure = Figure(figsize=(WIDE, max(LEAST, ROW * max(len(topics), len(EFFECTS)) + 1.1)), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        _levels(left, claims, topics)
        _effects(right, claims)
        figure.supxlabel(f"{caption}. Bars: 95% intervals.", fontsize=6)
    return figure


def _levels(axis: Axes, claims: Sequence[Claim], topics: Sequence[str]) -> None:
    for row, topic in enumerate(topics):
        own = find(claims, "default", topic)
        for place, (kind, look) in enumerate(KINDS.items()):
            claim = _level(claims, kind, topic)
            if claim is not None:
                base = own.estimate if own and kind in ("Republicans", "Democrats") else 0.0
                _bar(axis, claim, base, row + 0.15 * (place - 1.5), look, kind if row == 0 else "")
    _rows(axis, [load_topic(topic).heading for topic in topics], "attitude, 0-10")
    axis.set_xlim(0, 10)
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=6, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _level(claims: Sequence[Claim], kind: str, topic: str) -> Claim | None:
    names = {
        "Republicans": "republican_away",
        "Democrats": "democrat_away",
        "the model itself": "default",
        "what pulls": "level",
    }
    return find(claims, names[kind], topic)


def _effects(axis: Axes, claims: Sequence[Claim]) -> None:
    for row, name in enumerate(EFFECTS):
        claim = find(claims, name, ALL)
        if claim:
            _bar(axis, claim, 0.0, row, {"color": "#000000", "marker": "o"}, "effect" if row == 0 else "")
            axis.plot(
                [claim.null],
                [row + 0.25],
                "x",
                color="#777777",
                markersize=4,
                label="its null alone" if row == 0 else None,
            )
    axis.axvline(0, color="#999999", linewidth=0.6)
    _rows(axis, list(EFFECTS.values()), "points moved toward the Default")
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=6, frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _bar(axis: Axes, claim: Claim, base: float, at: float, look: dict[str, Any], label: str) -> None:
    value = base + claim.estimate
    reach = [[max(claim.estimate - claim.low, 0.0)], [max(claim.high - claim.estimate, 0.0)]]
    known = all(math.isfinite(end[0]) for end in reach)
    axis.errorbar(
        [value],
        [at],
        xerr=reach if known else None,
        linestyle="none",
        markersize=4,
        elinewidth=1,
        label=label or None,
        **look,
    )


def _rows(axis: Axes, names: Sequence[str], title: str) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel(title, fontsize=7)
