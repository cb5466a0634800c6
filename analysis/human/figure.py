"""The picture: change against initial opinion, correlations by source with intervals, and the way there turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis.figures import new_figure
from parley.analysis.human.debate import Published
from parley.analysis.human.measures import traces
from parley.analysis.human.rooms import RUN
from parley.analysis.human.table import ALL, Source, complete

LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"), ("#e69f00", "P"))
OWN = ("#000000", "X")
"""Colours of Okabe and Ito, which people of any colour vision tell apart; the run is black. Markers differ too."""
BINS, LEAST = 5, 5
"""Steps of initial opinion; people below which a step is not drawn."""


def draw(sources: Sequence[Source], found: pd.DataFrame, published: Sequence[Published], caption: str) -> Figure:
    """Four panels. `found`: the rows of `measured` of these sources; `published`: DEBATE's values, drawn hollow, no interval."""
    persons = [source for source in sources if len(source.people)]
    with new_figure(7.2, 6.2, caption, 8) as figure:
        (change, effects), (talks, rounds) = figure.subplots(2, 2)
        _change(change, persons)
        _effects(effects, persons, found, published)
        people, own = ([source for source in persons if (source.name == RUN) == mine] for mine in (False, True))
        _traces(talks, people, "People: toward the other side", "turn (hollow: told after the talk)")
        _traces(rounds, own, "Run: toward the others of the room", "round (hollow: the last)")
        rounds.sharey(talks)
        talks.autoscale()
    return figure


def _change(axis: Axes, sources: Sequence[Source]) -> None:
    """Mean change by initial opinion, in steps of a fifth; a dot where at least LEAST people started there."""
    looks = _looks(sources)
    for source in sources:
        people = complete(source.people)
        steps = np.minimum((people["before"] * BINS + 1e-9).astype("int64"), BINS - 1)
        means = people.assign(change=people["after"] - people["before"]).groupby(steps)[["before", "change"]]
        shown = means.mean()[means.size() >= LEAST]
        colour, marker = looks[source.name]
        axis.plot(
            shown["before"], shown["change"], color=colour, marker=marker, markersize=4, linewidth=1, label=source.name
        )
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.set(title="Change by initial opinion", xlabel="opinion before (0-1)", ylabel="mean change", xlim=(-0.04, 1.04))
    axis.legend(frameon=False, fontsize=7)


def _effects(axis: Axes, sources: Sequence[Source], found: pd.DataFrame, published: Sequence[Published]) -> None:
    """A line a source and measure: correlation with 95% interval; hollow: published, without one."""
    keys = ["own", "oldham", "distance"]
    looks = _looks(sources)
    names = [*[source.name for source in sources if source.name != RUN], "DEBATE people", "DEBATE model", RUN]
    if not published:
        names = [name for name in names if not name.startswith("DEBATE")]
    for place, key in enumerate(keys):
        values = {entry.measure: (entry.human, entry.model) for entry in published}
        for row, name in enumerate(names):
            at = place * (len(names) + 1) + row
            if name in looks:
                _estimate(axis, at, _whole(found, name, key), looks[name])
            elif key in values:
                axis.plot(float(values[key][name.endswith("model")]), at, "h", color="#444444", markerfacecolor="none")
            else:
                _absent(axis, at, "not published")
    ticks = [place * (len(names) + 1) + row for place in range(len(keys)) for row in range(len(names))]
    axis.set_yticks(ticks, names * len(keys), fontsize=6.5)
    for place, title in enumerate(("own initial opinion", "mean of before and after", "distance to partner")):
        axis.text(1.06, place * (len(names) + 1) - 0.72, title, ha="right", va="center", fontsize=6.5, style="italic")
    axis.axvline(0, color="#999999", linewidth=0.6)
    axis.set(title="Change correlates with ...", xlabel="r, 95% interval", xlim=(-1.08, 1.08))
    axis.set_ylim(len(keys) * (len(names) + 1) - 1.3, -1.3)


def _estimate(axis: Axes, at: int, row: pd.Series | None, look: tuple[str, str]) -> None:
    if row is None or np.isnan(row["estimate"]):
        _absent(axis, at, "not known")
        return
    axis.plot(row["estimate"], at, look[1], color=look[0], markersize=4)
    axis.hlines(at, row["low"], row["high"], color=look[0], linewidth=1.2)


def _absent(axis: Axes, at: int, why: str) -> None:
    axis.text(0.03, at, why, va="center", fontsize=6, color="#666666")


def _whole(found: pd.DataFrame, name: str, key: str) -> pd.Series | None:
    """The row of all conditions together; of the only one where there is one."""
    rows = found[(found["source"] == name) & (found["key"] == key)]
    whole = rows[rows["condition"] == ALL] if len(rows) > 1 else rows
    return whole.iloc[0] if len(whole) else None


def _traces(axis: Axes, sources: Sequence[Source], title: str, turn: str) -> None:
    """Mean way toward the other side after each turn; the last opinion is hollow. More conditions than LOOKS are drawn as one."""
    found = pd.concat([_ways(source) for source in sources], ignore_index=True) if sources else pd.DataFrame()
    axis.set(title=title, xlabel=turn, ylabel="mean change since before (0-1)")
    if found.empty:
        why = "nobody was asked in between" if sources else "no opinions of people were given"
        axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center")
        axis.set_xticks([])
        return
    for place, (condition, line) in enumerate(found.groupby("condition", sort=False)):
        colour, marker = LOOKS[place]
        at, means = line["turn"] + 0.05 * place, line["mean"]
        axis.vlines(at, line["low"], line["high"], color=colour, linewidth=0.8, alpha=0.7)
        axis.plot(
            at, means, color=colour, linewidth=1, marker=marker, markersize=4, markevery=range(len(at) - 1),
            label=f"{condition} (n={line['n'].iloc[0]})",
        )  # fmt: skip
        axis.plot(at.iloc[-1], means.iloc[-1], marker, color=colour, markerfacecolor="white", markersize=4)
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(frameon=False, fontsize=6.5, loc="upper left")


def _ways(source: Source) -> pd.DataFrame:
    many = source.people["condition"].nunique() > len(LOOKS)
    return traces(source.people.assign(condition=ALL) if many else source.people)


def _looks(sources: Sequence[Source]) -> dict[str, tuple[str, str]]:
    names = [source.name for source in sources if source.name != RUN]
    return {**dict(zip(names, LOOKS, strict=False)), RUN: OWN}
