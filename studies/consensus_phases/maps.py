"""The figures of the study: the map of phases with planted and measured points, sizes of groups, response curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from parley.analysis.figures import ESTIMATE, OTHERS, SPARE, add_legend, error_bars, new_figure
from parley.analysis.statistics.intervals import Floats

from .theory import ALTERNATING, BIASED, DISORDERED, EITHER, Curve, edge_of_either_side, large_group, order, phase

SHADES = {EITHER: "#b9d6ea", BIASED: "#f6e3c5", DISORDERED: "#ffffff", ALTERNATING: "#d9d9d9"}
NAMES = {
    EITHER: "either side: a large group stays where it began", BIASED: "biased consensus: 3 of 4 on the side of the bias",
    DISORDERED: "disordered", ALTERNATING: "alternating",
}  # fmt: skip
SIZES = (3, 10, 30, 100)
PULLS, BIASES = (-1.5, 3.0), (-1.5, 1.5)
ABOUT = (
    "The left panel shows what theory expects of large groups, by pull (how steeply answers follow other people's answers; 1 is "
    "critical) and bias. Open markers are planted laws of rule-based people or of the oracle. Filled markers are points "
    "measured by the response curve. The right panel shows the size of the mean answer in the long run, for groups without bias "
    "and noise, computed exactly."
)


def draw_map(measured: pd.DataFrame, rules: pd.DataFrame, note: str) -> Figure:
    """Draw the map with its points, and agreement by pull for several sizes.

    measured: who, pull and bias with ends, planted_pull and planted_bias (NaN: nothing planted). rules: the same of rules.
    """
    title = "Where do these people lie on the map of consensus?"
    with new_figure(7.2, 3.5, note, title=title, about=ABOUT) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        patches = _shade(left, _reach(measured, rules))
        _draw_rules(left, rules)
        _draw_measured(left, measured)
        left.set(xlabel="Pull of the others (1 is critical)", ylabel="Bias toward the claim")
        _draw_sizes(right)
        add_legend(figure, [left, right], 2, handles=patches)
    return figure


def _reach(*frames: pd.DataFrame) -> tuple[float, float]:
    """Return how far the map has to reach: the largest pull and the largest size of a bias of any point."""
    pulls = pd.concat([frame[name] for frame in frames for name in ("pull", "planted_pull")])
    biases = pd.concat([frame[name].abs() for frame in frames for name in ("bias", "planted_bias")])
    return max(PULLS[1], float(pulls.max()) + 0.3), max(BIASES[1], float(biases.max()) + 0.2)


def _shade(axis: Axes, reach: tuple[float, float]) -> list[Patch]:
    pulls, biases = np.linspace(PULLS[0], reach[0], 361), np.linspace(-reach[1], reach[1], 241)
    places = phase(pulls[None, :], biases[:, None])
    shades = ListedColormap([SHADES[name] for name in SHADES])
    axis.pcolormesh(pulls, biases, places, cmap=shades, vmin=-0.5, vmax=3.5, rasterized=True, zorder=0)
    critical = np.linspace(1.0, reach[0], 100)
    for sign in (-1, 1):
        axis.plot(critical, sign * edge_of_either_side(critical), color="#333333", linewidth=0.8, zorder=1)
    axis.set(xlim=(pulls[0], pulls[-1]), ylim=(biases[0], biases[-1]))
    return [Patch(facecolor=SHADES[name], edgecolor="#888888", linewidth=0.5, label=NAMES[name]) for name in SHADES]


def _draw_rules(axis: Axes, rules: pd.DataFrame) -> None:
    gray = "#555555"
    axis.plot(
        rules["planted_pull"],
        rules["planted_bias"],
        "s",
        mfc="none",
        mec=gray,
        markersize=6,
        label="rules, planted",
        zorder=3,
    )
    _points(axis, rules, color=gray, fmt="s", markersize=3, label="rules, measured")


def _draw_measured(axis: Axes, measured: pd.DataFrame) -> None:
    planted = measured.dropna(subset=["planted_pull"]).drop_duplicates(["planted_pull", "planted_bias"])
    if len(planted):
        axis.plot(
            planted["planted_pull"], planted["planted_bias"], "D", mfc="none", mec="#000000", markersize=8, zorder=3,
            label="oracle, planted",
        )  # fmt: skip
    looks = [(ESTIMATE, "o"), *((look["color"], SPARE[1 + place % 4]) for place, look in enumerate(OTHERS))]
    for (who, rows), (color, marker) in zip(measured.groupby("who", sort=False), looks, strict=False):
        _points(axis, rows, color=color, fmt=marker, markersize=4, label=f"measured: {who}")


def _points(axis: Axes, rows: pd.DataFrame, **look: object) -> None:
    """Draw points with both intervals; an open interval reaches to the edge of the map."""
    shown = rows.replace([np.inf, -np.inf], [99.0, -99.0])
    bars = {"xerr": error_bars(shown, "pull"), "yerr": error_bars(shown, "bias")}
    axis.errorbar(shown["pull"], shown["bias"], **bars, elinewidth=0.9, capsize=1.5, zorder=4, **look)  # type: ignore[arg-type]


def _draw_sizes(axis: Axes) -> None:
    pulls = np.linspace(0, PULLS[1], 31)
    for size, look in zip(SIZES, OTHERS[1:], strict=False):
        values = [order(Curve(float(pull), 0.0), size) for pull in pulls]
        axis.plot(
            pulls, values, color=look["color"], linestyle=look["linestyle"], linewidth=1.1, label=f"groups of {size}"
        )
    fine: Floats = np.linspace(0, PULLS[1], 301)
    axis.plot(fine, large_group(fine, np.zeros_like(fine)), color="#000000", linewidth=1.1, label="very large groups")
    axis.set(ylim=(-0.02, 1.02), xlabel="Pull of the others", ylabel="Agreement in the long run")


def draw_curves(points: pd.DataFrame, note: str) -> Figure:
    """Draw the share for the claim by the share of the others that people were told; points: who, told, share with ends."""
    title = "How answers follow what people are told of the others"
    with new_figure(4.6, 3.0, note, title=title) as figure:
        axis = figure.subplots()
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.6, zorder=0)
        looks = [(ESTIMATE, "o"), *((look["color"], SPARE[1 + place % 4]) for place, look in enumerate(OTHERS))]
        for (who, rows), (color, marker) in zip(points.groupby("who", sort=False), looks, strict=False):
            bars = error_bars(rows, "share")
            axis.errorbar(
                rows["told"],
                rows["share"],
                yerr=bars,
                color=color,
                marker=marker,
                markersize=3.5,
                linewidth=0.9,
                capsize=2,
                label=who,
            )
        axis.set(
            xlim=(-0.04, 1.04),
            ylim=(-0.03, 1.03),
            xlabel="Share of the others said to agree",
            ylabel="Share for the claim",
        )
        add_legend(figure, [axis], 2)
    return figure
