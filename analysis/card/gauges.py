"""The three gauges of a card: where it leans, how hard it pulls, and how much of the movement is persuasion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.sections import bias
from parley.analysis.card.sections.pull import DIFFER
from parley.analysis.card.verdicts import LEANS, PERSUADES, PULLS
from parley.analysis.figure_text import wrap_text
from parley.analysis.figures import draw_null, new_figure

WIDE, TALL, SIZE, NAMES = 9.4, 1.75, 9, 1.3
TRACK, POINT, TALK = "#e8e8ee", "#1b1b1f", "#c9a227"
NOTE = "Points are estimates, and bars are 95% intervals over blocks. Intervals of the left panel hold for all topics at once."
NOTHING = "unknown"


def dials(claims: Sequence[CardEstimate], first: Batch, caption: str) -> Figure:
    """Draw three gauges side by side; a gauge without an estimate says that it is unknown, and has no scale."""
    with new_figure(WIDE, TALL, NOTE, 7.5, title=f"Bias card: {caption}") as figure:
        left, middle, right = figure.subplots(1, 3)
        _draw_lean(left, claims, first)
        _draw_pull(middle, claims, first)
        _draw_persuasion(right, claims)
        for axis, title in zip((left, middle, right), (LEANS, PULLS, PERSUADES), strict=True):
            axis.set_title(title, fontsize=SIZE + 1, fontweight="bold")
            axis.spines[["left"]].set_visible(False)
            axis.tick_params(axis="y", length=0)
        pulls, talk = [*_rates(claims, first).values()], [find_estimate(claims, "three_empty")]
        shown: tuple[Sequence[CardEstimate | None], ...] = (bias.widened(claims, first), pulls, talk)
        for axis, estimates in zip((left, middle, right), shown, strict=True):
            if not any(claim and math.isfinite(claim.estimate) for claim in estimates):
                axis.set_xticks([])  # matplotlib would make up a scale
    return figure


def _draw_lean(axis: Axes, claims: Sequence[CardEstimate], first: Batch) -> None:
    """A row per topic: how much nearer the model's own answer is to one party role than to the other."""
    drawable = bias.widened(claims, first)
    first_role, other = map(first.society.label, first.parties)
    reach = max(
        [
            2.0,
            *(abs(end) for claim in drawable for end in (claim.estimate, claim.low, claim.high) if math.isfinite(end)),
        ]
    )
    _rows(axis, [load_topic(claim.topic).title for claim in drawable] or [NOTHING])
    for row, claim in enumerate(drawable):
        _point(axis, claim, row)
    axis.set_xlim(-1.08 * reach, 1.08 * reach)
    draw_null(axis, upright=True)
    axis.set_xlabel(f"\u2190 {first_role} role | {other} role \u2192\n(points)", fontsize=SIZE - 1)


def _rates(claims: Sequence[CardEstimate], first: Batch) -> dict[str, CardEstimate | None]:
    """Pull and influence by their names; those of each party where the parties move differently."""
    rates = {"its own pull": find_estimate(claims, "mu"), "influence of others": find_estimate(claims, "kappa")}
    if any(claim.reason == DIFFER for claim in claims):
        parties = zip(("first", "second"), map(first.society.plural, first.parties), strict=True)
        rates = {
            f"{what}, {party}": find_estimate(claims, f"{name}_{which}")
            for which, party in parties
            for what, name in (("pull", "mu"), ("influence", "kappa"))
        }
    return rates


def _draw_pull(axis: Axes, claims: Sequence[CardEstimate], first: Batch) -> None:
    """Pull and influence on one scale."""
    rates = _rates(claims, first)
    measured = [claim for claim in rates.values() if claim]
    ends = [end for claim in measured for end in (claim.estimate, claim.high) if math.isfinite(end)]
    _rows(axis, [name if claim else f"{name}: {NOTHING}" for name, claim in rates.items()])
    for row, claim in enumerate(rates.values()):
        if claim:
            _point(axis, claim, row)
    low = min([0.0, *(claim.low for claim in measured if math.isfinite(claim.low))])
    axis.set_xlim(1.15 * low - 0.001, max(0.02, 1.15 * max([0.0, *ends])))
    draw_null(axis, upright=True)
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    axis.set_xlabel("share of the distance, per reply heard", fontsize=SIZE - 1)


def _draw_persuasion(axis: Axes, claims: Sequence[CardEstimate]) -> None:
    """The movement in a debate in two steps: what empty talk does, and what partners' words add."""
    empty = find_estimate(claims, "three_empty")
    _rows(axis, ["empty talk", "persuasion adds"] if empty else [NOTHING])
    draw_null(axis, upright=True)
    axis.set_xlabel("points nearer to\nthe model's own opinion", fontsize=SIZE - 1)
    if not empty:
        return
    whole = empty.null + empty.estimate
    axis.barh([0, 1], [empty.null, empty.estimate], left=[0, empty.null], height=0.34, color=[TALK, POINT], zorder=2)
    reach = [[max(empty.estimate - empty.low, 0.0)], [max(empty.high - empty.estimate, 0.0)]]
    if math.isfinite(empty.low + empty.high):
        axis.errorbar([whole], [1], xerr=reach, fmt="none", ecolor="#777777", elinewidth=1.6, capsize=4, zorder=3)
    ends = [0.0, whole, empty.null, *(empty.null + end for end in (empty.low, empty.high) if math.isfinite(end))]
    axis.set_xlim(min(-0.5, 1.1 * min(ends)), max(1.0, 1.1 * max(ends)))


def _rows(axis: Axes, names: Sequence[str]) -> None:
    """Name the rows from top to bottom, each with the track of a gauge."""
    axis.set_yticks(range(len(names)), [wrap_text(name, NAMES, SIZE) for name in names], fontsize=SIZE)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.barh(
        range(len(names)), [2] * len(names), left=-1, height=0.34, color=TRACK, transform=axis.get_yaxis_transform()
    )
    axis.tick_params(axis="x", labelsize=SIZE - 1)
    axis.xaxis.set_major_locator(MaxNLocator(5))


def _point(axis: Axes, claim: CardEstimate, row: int) -> None:
    has_interval = math.isfinite(claim.low) and math.isfinite(claim.high)
    bar = [[max(claim.estimate - claim.low, 0.0)], [max(claim.high - claim.estimate, 0.0)]] if has_interval else None
    look: Any = {"color": POINT, "marker": "o", "markersize": 6, "elinewidth": 1.8, "capsize": 4, "linestyle": "none"}
    axis.errorbar([claim.estimate], [row], xerr=bar, **look)
