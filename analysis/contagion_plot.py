"""The figure of who believes an item of news: believers and others by step, with what came from outside."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import new_figure
from parley.analysis.formatting import format_range, group_title
from parley.analysis.party_styles import OTHERS
from parley.analysis.plots import MARK
from parley.analysis.tables import Tables

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
            _panel(axis, points)
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


def _panel(axis: Axes, points: pd.DataFrame) -> None:
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
