"""The specification curve as a figure: effects in increasing order, and under each one the levels of its specification."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis.claims.audit import Audit
from parley.analysis.claims.multiverse import SPECIFICATION
from parley.analysis.claims.variance import ALPHA
from parley.analysis.claims.verdict import EXPECTED
from parley.analysis.figures import ESTIMATE, TWO_COLUMNS, new_figure

AGAINST, MATTERS = "#d55e00", "#7a3b9c"
ROW = 0.115
"""Height of a row of the matrix, in inches."""
NOTE = (
    "Each column is a specification. Above: its mean difference, with a 95% interval from one spread of debates for all. "
    "{colours}. Dashed: the smallest effect of interest. Below: the level of each setting in this specification, in purple "
    "where the effect depends on the setting{line}"
)
SIDES = "Blue circle: on the side that the claim expects; orange square: on the other"
BOUND = "Blue circle: within the bound of the claim; orange square: beyond it"
LINE = ". The claim should not depend on the settings above the thick line"


def curve_figure(audit: Audit) -> Figure:
    """Draw the curve of an audit."""
    rows = sum(len(one.levels) for one in audit.multiverse.dimensions)
    colours = BOUND if audit.multiverse.claim.expected == "equivalent" else SIDES
    line = LINE if not all(one.meant for one in audit.multiverse.dimensions) else ""
    note = NOTE.format(colours=colours, line=line)
    with new_figure(TWO_COLUMNS, 2.0 + ROW * rows, note, title=audit.multiverse.claim.claim) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, max(ROW * rows, 0.3)])
        _draw_effects(above, audit)
        _draw_levels(below, audit)
    return figure


def _draw_effects(axis: Axes, audit: Audit) -> None:
    effects, claim = audit.curve.effects, audit.multiverse.claim
    places, values = np.arange(len(effects)), effects["effect"].to_numpy(dtype=float)
    expected = np.array([claim.favours(value) for value in values], dtype=bool)
    looks: list[dict[str, Any]] = [
        {"fmt": "o", "color": ESTIMATE, "markersize": 3},
        {"fmt": "s", "color": AGAINST, "markersize": 3, "fillstyle": "none"},
    ]
    for chosen, look in zip((expected, ~expected), looks, strict=True):
        reach = (effects["high"] - effects["effect"]).fillna(0).to_numpy(dtype=float)[chosen]
        axis.errorbar(places[chosen], values[chosen], yerr=reach, elinewidth=0.6, capsize=0, **look)
    axis.axhline(0, color="#999999", linewidth=0.6)
    bounds = {"greater": (1,), "less": (-1,), "equivalent": (-1, 1)}[claim.expected]
    for side in bounds:
        axis.axhline(side * claim.smallest, color="#999999", linewidth=0.6, linestyle=(0, (4, 3)))
    where = EXPECTED[claim.expected]
    axis.set_ylabel(f"{claim.measure.title},\nfirst arm minus second\n(expected: {where})", fontsize=7)
    axis.tick_params(bottom=False)


def _draw_levels(axis: Axes, audit: Audit) -> None:
    """Draw a mark for the level that each specification has of each dimension, and a line before the population."""
    order = audit.curve.effects[SPECIFICATION]
    levels = audit.multiverse.levels.loc[order]
    matters = set(audit.settings.loc[audit.settings["p_holm"] < ALPHA, "setting"])
    names, row = [], 0
    for dimension in audit.multiverse.dimensions:
        for level in dimension.levels:
            at = np.flatnonzero(levels[dimension.name].to_numpy() == level)
            colour = MATTERS if dimension.name in matters else "#333333"
            axis.plot(at, np.full(len(at), row), linestyle="none", marker="|", markersize=4, color=colour)
            names.append(f"{dimension.name}: {level}")
            row += 1
        axis.axhline(row - 0.5, color="#dddddd", linewidth=0.4)
    meant = sum(len(one.levels) for one in audit.multiverse.dimensions if one.meant)
    if meant < row:
        axis.axhline(meant - 0.5, color="#333333", linewidth=1.0)
    axis.set_yticks(range(row), names, fontsize=5.5)
    for label in axis.get_yticklabels():
        if label.get_text().rpartition(": ")[0] in matters:
            label.set_color(MATTERS)
    axis.set_ylim(row - 0.4, -0.6)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(order)} specifications, by effect")
