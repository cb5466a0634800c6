"""The figure of a network: who hears whom before the first and after the last round, with opinions as colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from parley.analysis.figures import LABEL, TWO_COLUMNS, add_legend, new_figure, styles_of_run
from parley.analysis.formatting import seat_title
from parley.analysis.metrics._network import Population, populations
from parley.analysis.network_layout import Floats, layout
from parley.analysis.plots import figure_title, topic_ends
from parley.analysis.tables import Tables

COLOURS = "cividis"
"""Lighter is higher, for every kind of colour vision."""
NO_RATING = "#ffffff"
MISSING = "White: no rating"
TALL = 2.9


def has_network(tables: Tables) -> bool:
    """Return whether agents of a run are linked."""
    return not tables.links.empty


def network_figure(tables: Tables, note: str) -> Figure:
    """Draw the first network of a run before the debate and after its last survey: colour is opinion, shape is party.

    Both panels have the same places, by the links at the start. note: what stands below the figure.
    """
    networks = list(populations(tables))
    shown = networks[0]
    which = f" Shown is room 1 of {len(networks)}." if len(networks) > 1 else ""
    links = shown.links(0)
    places = layout(len(shown.room.parties), links.source, links.target)
    surveys = [int(round_) for round_ in shown.room.attitudes.columns]
    rounds = list(dict.fromkeys((surveys[0], surveys[-1]))) if surveys else [0, shown.last]
    markers = {party: look["markers"][0] for party, look in styles_of_run(tables).items()}
    title = f"Who hears whom: {figure_title(tables, [shown.room.group])}"
    with new_figure(TWO_COLUMNS, TALL, f"{note}{which}", title=title, about=ABOUT) as figure:
        axes = figure.subplots(1, len(rounds), squeeze=False)[0]
        for axis, round_ in zip(axes, rounds, strict=True):
            _draw(axis, shown, round_, places, markers)
            axis.set_title(f"After round {round_}" if round_ else "Before the debate")
        scale = figure.colorbar(_scale(), ax=list(axes), shrink=0.75, ticks=[0, 5, 10])
        ends = topic_ends(tables, shown.room.topic)
        scale.set_label(f"Attitude\n0: {ends[0]}\n10: {ends[1]}" if ends else "Attitude (0 to 10)", fontsize=LABEL)
        _legend(figure, tables, shown, markers)
    return figure


ABOUT = (
    "A point is an agent; a line joins agents of whom one hears the other. Linked agents are near each other. Colour is the "
    "attitude, shape is the party."
)


def _scale() -> ScalarMappable:
    return ScalarMappable(Normalize(0, 10), COLOURS)


def _draw(axis: Axes, network: Population, round_: int, places: Floats, markers: Mapping[str, str]) -> None:
    links = network.links(round_)
    ends = places[np.stack([links.source, links.target], axis=1)].reshape(-1, 2)
    codes = np.tile([Outline.MOVETO, Outline.LINETO], len(links.source))
    faint = max(0.08, min(0.6, 60 / max(len(links.source), 1)))
    if len(ends):
        axis.add_patch(
            PathPatch(Outline(ends, codes), edgecolor="#333333", facecolor="none", linewidth=0.4, alpha=faint)
        )
    attitudes = network.room.attitudes
    values = attitudes[round_].to_numpy(dtype=float) if round_ in attitudes else np.full(len(places), np.nan)
    parties = network.room.parties.to_numpy()
    area = max(5.0, min(40.0, 2500 / max(len(places), 1)))
    for party in dict.fromkeys(parties):
        here = parties == party
        fills = [NO_RATING if np.isnan(value) else colormaps[COLOURS](value / 10) for value in values[here]]
        axis.scatter(
            places[here, 0],
            places[here, 1],
            s=area,
            c=fills,
            marker=markers[party],
            edgecolors="#222222",
            linewidths=0.3,
            zorder=2,
        )
    axis.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def _legend(figure: Figure, tables: Tables, network: Population, markers: Mapping[str, str]) -> None:
    parties = dict.fromkeys(map(str, network.room.parties))
    look: Any = {"color": "none", "markeredgecolor": "#222222", "markeredgewidth": 0.5, "markersize": 5}
    handles = [
        Line2D([], [], marker=markers[party], markerfacecolor="#9a9a9a", label=seat_title(party, tables.names), **look)
        for party in parties
    ]
    if network.room.attitudes.isna().any(axis=None):
        handles.append(Line2D([], [], marker="o", markerfacecolor=NO_RATING, label=MISSING, **look))
    add_legend(figure, [], handles=handles)
