"""The picture of a run of private deliberations: agreement with both statements, who moved, how far groups are of one side."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis.deliberation.episode import STATEMENTS, Episode
from parley.analysis.deliberation.movement import HUMAN_MOVEMENT, MEASURES, Measure, majority
from parley.analysis.plots import style

FIRST, SECOND, HUMAN = "#8a8a8a", "#00785a", "#d55e00"


def draw(episodes: Sequence[Episode], found: Sequence[Measure], caption: str) -> Figure:
    """Three panels. `found`: the measures of these episodes."""
    known = {measure.name: measure for measure in found}
    with style():
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        FigureCanvasAgg(figure)
        agreed, moves, sides = figure.subplots(1, 3, width_ratios=(1, 1.3, 1))
        _pairs(agreed, episodes, known, STATEMENTS, ("draft", "revision"))
        agreed.set(title="Agreement with the statement", ylabel="mean of a group's episode, 1-7", ylim=(0.8, 7.2))
        _moves(moves, episodes, known["movement"])
        _pairs(sides, episodes, known, ("margin_before", "margin_after"), ("before", "after"))
        sides.set(title="Group agreement", ylabel="margin of one side, 0-1", ylim=(-0.04, 1.04))
        figure.suptitle(textwrap.fill(caption, 105), fontsize=8)
    return figure


def _pairs(
    axis: Axes, episodes: Sequence[Episode], known: Mapping[str, Measure], names: Sequence[str], ticks: Sequence[str]
) -> None:
    """A grey line an episode, from the first to the second; means over groups with their 95% intervals on top."""
    values = [[MEASURES[name][1](episode) for name in names] for episode in episodes]
    both = np.array([row for row in values if None not in row], dtype=float)
    shift = np.linspace(-0.08, 0.08, len(both)) if len(both) > 1 else np.zeros(len(both))
    for aside, row in zip(shift, both, strict=True):
        axis.plot(np.arange(2) + aside, row, color=FIRST, linewidth=0.4, alpha=max(0.15, 0.7 - len(both) / 100))
    for place, name in enumerate(names):
        measure = known[name]
        if measure.value is not None:
            ends = [[measure.value - measure.low], [measure.high - measure.value]]
            bars = None if np.isnan(measure.low) else ends
            axis.errorbar(place, measure.value, bars, fmt="o", color=SECOND, markersize=5, capsize=3, zorder=5)
            axis.annotate(f"{measure.value:.2f}", (place, measure.value), (8, 0), "data", "offset points", va="center")
    axis.set_xticks(range(2), ticks)
    axis.set_xlim(-0.4, 1.5)


def _moves(axis: Axes, episodes: Sequence[Episode], measure: Measure) -> None:
    """How far people moved, toward the side of their majority or away from it; the mean beside that of people."""
    steps = Counter(
        round(side * (voice.after - voice.position))
        for episode in episodes
        if (side := majority(episode.voices))
        for voice in episode.voices
        if voice.position is not None and voice.after is not None
    )
    reach = max([2, *map(abs, steps)])
    places = range(-reach, reach + 1)
    total = sum(steps.values()) or 1
    colors = [HUMAN if place < 0 else FIRST if place == 0 else SECOND for place in places]
    axis.bar(list(places), [steps[place] / total for place in places], color=colors, width=0.8)
    told = "" if measure.value is None else f"run {measure.value:+.2f}"
    if measure.value is not None and not np.isnan(measure.low):
        told += f" ({measure.low:+.2f} to {measure.high:+.2f})"
    axis.set(
        title="Change of position", xlabel="points toward (+) or away from (-) the majority", ylabel="share of people"
    )
    axis.text(
        0.98,
        0.97,
        f"toward less away\n{told}\nHabermas Machine, people {HUMAN_MOVEMENT:+.3f}",
        transform=axis.transAxes,
        ha="right",
        va="top",
    )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylim(0, 1.35 * max((count / total for count in steps.values()), default=1))
