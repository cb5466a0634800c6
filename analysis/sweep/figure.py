"""The figure of a sweep: a row for each varied field, a column for each topic, a line for each party.

Party is told by colour, marker and line style alike (analysis/plots.py). Numbers are on an axis to scale, words side by side.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.topic import load_topic
from parley.analysis.figures import add_legend, make_panels, new_figure
from parley.analysis.formatting import seat_title, strip_controls
from parley.analysis.party_styles import styles_by_party
from parley.llm.errors import UserError

WIDEST = 6
"""Topics that have a panel each; of more, the first ones have."""
ASIDE = 0.015
"""Share of the axis by which parties stand beside each other, so that their bars do not hide one another."""


def figure(effects: pd.DataFrame, caption: str) -> Figure:
    """Change of attitude by value of each varied field, for one group. effects: as analysis.sweep.tables gives them."""
    fields, topics = list(effects["field"].unique()), list(effects["topic"].unique())[:WIDEST]
    parties = list(effects["party"].unique())
    with new_figure(max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(fields) + 0.9) as drawn:
        grid = make_panels(drawn, len(fields), [_heading(topic) for topic in topics], sharex="row", sharey=True)
        for row, field in zip(grid, fields, strict=True):
            values = list(effects.loc[effects["field"] == field, "value"].unique())
            for axis, topic in zip(row, topics, strict=True):
                here = effects[(effects["field"] == field) & (effects["topic"] == topic)]
                _panel(axis, here, values, parties)
                axis.set_xlabel("" if field == "all" else strip_controls(field))
            row[0].set_ylabel("change (points)")
        add_legend(drawn, grid[0][:1], 4)
        drawn.suptitle(textwrap.fill(strip_controls(caption), int(drawn.get_figwidth() * 16)), fontsize=7)
    return drawn


def crossing(pairs: pd.DataFrame, caption: str) -> Figure:
    """Change by one field, a line a value of another: a row for each party, a column for each topic. Lines that are not parallel:
    the effect of the one depends on the other. pairs: as analysis.sweep.interactions.pair_means gives them, of one
    pair of fields and group.
    """
    topics, parties = list(pairs["topic"].unique())[:WIDEST], list(pairs["party"].unique())
    values, others = (list(pairs[name].unique()) for name in ("value", "other_value"))
    lines = styles_by_party(others)
    with new_figure(max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(parties) + 0.9) as drawn:
        titles, below = [_heading(topic) for topic in topics], strip_controls(str(pairs["field"].iloc[0]))
        grid = make_panels(drawn, len(parties), titles, below, sharex=True, sharey=True)
        for row, party in zip(grid, parties, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                here = pairs[(pairs["party"] == party) & (pairs["topic"] == topic)]
                _lines(axis, here.assign(line=here["other_value"]), values, {one: (lines[one], one) for one in others})
            row[0].set_ylabel(f"{seat_title(party)}\nchange (points)")
        add_legend(drawn, grid[0][:1], 4, strip_controls(str(pairs["other"].iloc[0])))
        drawn.suptitle(textwrap.fill(strip_controls(caption), int(drawn.get_figwidth() * 16)), fontsize=7)
    return drawn


def _panel(axis: Axes, rows: pd.DataFrame, values: Sequence[str], parties: Sequence[str]) -> None:
    named = styles_by_party(parties)
    _lines(axis, rows.assign(line=rows["party"]), values, {one: (named[one], seat_title(one)) for one in parties})


def _lines(axis: Axes, rows: pd.DataFrame, values: Sequence[str], lines: Mapping[str, tuple[Any, str]]) -> None:
    """Change by value, a line each (column `line`: its look and label)."""
    places, numeric = _places(values)
    reach = (max(places) - min(places)) or 1
    aside = ASIDE * reach
    for number, (name, (look, label)) in enumerate(lines.items()):
        part = rows[rows["line"] == name]
        x = [places[values.index(value)] + aside * (number - (len(lines) - 1) / 2) for value in part["value"]]
        ends = [
            part["change"] - part["change_low"].fillna(part["change"]),
            part["change_high"].fillna(part["change"]) - part["change"],
        ]
        axis.errorbar(x, part["change"], [end.clip(lower=0) for end in ends], color=look["color"], marker=look["markers"][0],
                      markersize=3.5, linewidth=1.0, linestyle=look["linestyle"], capsize=2,
                      label=strip_controls(label))  # fmt: skip
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
    if numeric:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=all(place.is_integer() for place in places)))
        axis.set_xlim(min(places) - reach / 10, max(places) + reach / 10)  # of values without a cell too
    else:
        axis.set_xticks(places, [textwrap.shorten(strip_controls(value), 18, placeholder="…") for value in values])
        axis.set_xlim(-0.5, len(values) - 0.5)


def _places(values: Sequence[str]) -> tuple[list[float], bool]:
    """Where values stand on the axis, and whether they are numbers."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = [math.nan]
    numeric = len(numbers) > 1 and all(map(math.isfinite, numbers))
    return (numbers, True) if numeric else ([float(place) for place in range(len(values))], False)


def _heading(topic: str) -> str:
    try:
        return load_topic(topic).heading
    except UserError:
        return strip_controls(topic)
