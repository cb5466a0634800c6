"""The figure of a network of many people: how many hold an attitude, and hear others of a mean attitude.

A picture of points and lines shows nothing for many agents, and its layout takes their number squared. The plane of one's own
attitude and the mean attitude of those one hears is that of Cinelli et al. 2021 (PNAS 118(9), Fig 2) and Cossard et al. 2020:
a mass along the diagonal is a network in which people hear their like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from parley.analysis.figures import LABEL, TWO_COLUMNS, new_figure
from parley.analysis.metrics._network import Population, heard_mean
from parley.analysis.tables import Tables

DRAWN = 5_000
"""The most agents of a network that is drawn with points and lines."""
EDGES = np.arange(-0.25, 10.5, 0.5)
"""Cells of half a point, around 0, 0.5, ... 10."""
TALL = 3.0
ABOUT = (
    "Each cell of the picture is half a point wide. The colour of a cell shows the number of agents with an attitude (across) "
    "who hear agents with a mean attitude (up). Agents on the dashed line hear agents with the same mean attitude as their own."
)
CAPTION = (
    "Agents by their attitude and the mean attitude of the agents heard, before the debate and after the last round"
)


def is_large(tables: Tables) -> bool:
    """Return whether a network has too many agents for points and lines."""
    linked = tables.agents[tables.agents["room"].isin(tables.links["room"].unique())]
    return bool(len(linked) and linked.groupby("room").size().max() > DRAWN)


def field_figure(networks: Sequence[Population], titles: Sequence[str], title: str, note: str, ends: str) -> Figure:
    """Draw two panels for each room: at the first and at the last survey. ends: what 0 and 10 of the attitude are."""
    limit = f" Networks of more than {DRAWN:,} agents are drawn as numbers of agents, without links."
    with new_figure(TWO_COLUMNS, TALL * len(networks), f"{note}{limit}", title=title, about=ABOUT) as figure:
        grid = figure.subplots(len(networks), 2, squeeze=False, sharex=True, sharey=True)
        counts = [_counts(network) for network in networks]
        most = max([2.0, *[float(table.max()) for _, tables in counts for table in tables if table.size]])
        shades: Any = None
        for pair, (rounds, tables), name in zip(grid, counts, titles, strict=True):
            for axis, round_, table in zip(pair, rounds, tables, strict=False):
                when = f"after round {round_}" if round_ else "before the debate"
                axis.set_title(f"{name}, {when}" if name else f"{when[0].upper()}{when[1:]}")
                shades = _draw(axis, table, most)
            for axis in pair[len(rounds) :]:
                axis.set_visible(False)
            pair[0].set_ylabel("Mean attitude of agents heard")
        for axis in grid[-1]:
            axis.set_xlabel(f"Own attitude{ends}")
        if shades is not None:
            scale = figure.colorbar(shades, ax=list(grid.flat), shrink=0.75, format="{x:,.0f}")
            scale.set_label("Agents", fontsize=LABEL)
    return figure


def _counts(network: Population) -> tuple[list[int], list[Any]]:
    """Return the first and the last survey, and for each the agents by attitude of those heard (rows) and own attitude."""
    surveys = [int(round_) for round_ in network.room.attitudes.columns]
    rounds = list(dict.fromkeys((*surveys[:1], *surveys[-1:])))
    tables = []
    for round_ in rounds:
        own = network.room.attitudes[round_].to_numpy(dtype=float)
        heard = heard_mean(network.links(round_), own)
        known = ~np.isnan(own) & ~np.isnan(heard)
        tables.append(np.histogram2d(heard[known], own[known], bins=(EDGES, EDGES))[0])
    return rounds, tables


def _draw(axis: Axes, table: Any, most: float) -> Any:
    """Draw the numbers of agents, empty cells white."""
    shown = np.ma.masked_equal(table, 0)
    shades = axis.pcolormesh(EDGES, EDGES, shown, cmap="cividis_r", rasterized=True, norm=LogNorm(1, most))
    axis.plot([0, 10], [0, 10], color="#555555", linestyle="--", linewidth=0.8)
    axis.set(xlim=(-0.25, 10.25), ylim=(-0.25, 10.25), xticks=[0, 5, 10], yticks=[0, 5, 10], aspect="equal")
    return shades
