"""One preset under several conditions, compared within rooms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parley.agents.society import NO_NAMES, PartyNames
from parley.analysis.formatting import uncorrected
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import Ends, Floats, bounds_of_difference, mean_interval, why_no_interval
from parley.analysis.tables import Tables
from parley.model.events import Header
from parley.model.titles import seat_title

PAIR = ["topic", "repetition"]
"""Rooms of two conditions with the same topic and repetition are a pair: the same people, as far as the condition allows."""
COLUMNS = [
    "condition", "rooms", "missing", "value", "low", "high", "pairs", "difference", "difference_low", "difference_high",
    "reason",
]  # fmt: skip


def compare_conditions(rooms: Mapping[str, pd.DataFrame], measure: str, bounds: Ends | None = None) -> pd.DataFrame:
    """Return one row per condition: rooms, missing (rooms without a number), value with its 95% interval, pairs, difference from
    the first condition with its interval (over pairs in which both have a number; none for the first), reason.

    rooms: by condition a frame with one row per room, the columns PAIR and the measure (NaN: missing). bounds: of the
    measure, if it has any, as in `mean_interval`. Means and intervals are
    those of `unit_means`. reason: why the difference (for the first condition: the value) has no interval.
    """
    wide = pd.DataFrame({name: frame.set_index(PAIR)[measure] for name, frame in rooms.items()})
    first, *_ = wide
    rows = []
    for name in wide:
        room_values = wide[name].dropna()
        paired = (room_values - wide[first]).dropna() if name != first else room_values.iloc[:0]
        counts = {"rooms": len(room_values), "missing": len(rooms[str(name)]) - len(room_values), "pairs": len(paired)}
        values, differences = unit_means(room_values), unit_means(paired)
        averages = mean_row(values, "value", bounds=bounds)
        averages |= mean_row(differences, "difference", "difference_", bounds_of_difference(bounds))
        reason = why_no_interval(values if name == first else differences, "repetition")
        rows.append({"condition": name} | counts | averages | {"reason": reason})
    return pd.DataFrame(rows, columns=COLUMNS)


def unit_means(values: pd.Series) -> Floats:
    """Return the mean of each repetition (of a group, if the index has one) over its rooms with a number.

    The same people meet on every topic of a repetition, so their rooms are one unit. values: one per room, indexed by PAIR.
    """
    units = [name for name in UNIT if name in values.index.names]
    means: Floats = values.dropna().groupby(level=units).mean().to_numpy(dtype=float)
    return means


def units_of(tables: Tables) -> pd.DataFrame:
    """Return the UNIT of each room of a run, indexed by room."""
    return tables.agents.drop_duplicates("room").set_index("room")[UNIT]


def mean_row(values: Floats, name: str = "estimate", ends: str = "", bounds: Ends | None = None) -> dict[str, float]:
    """Return the mean of values, one per unit, as `name` (NaN without values), and its 95% interval as `<ends>low`, `<ends>high`.

    bounds: of the mean, as in `mean_interval`.

    >>> mean_row(np.arange(2.0), "bet")
    {'bet': 0.5, 'low': nan, 'high': nan}
    """
    low, high = mean_interval(values, bounds=bounds)
    return {name: float(values.mean()) if len(values) else np.nan, f"{ends}low": low, f"{ends}high": high}


def conditions_report(
    folder: Path, name: str, title: str, caption: str, header: Header, **tables: pd.DataFrame
) -> Report:
    """Return a report with its caption and, for our own speakers, their caveat; write its tables."""
    report = Report(folder, name, title)
    report.data(**tables)
    report.add(caption, uncorrected(*tables.values()))
    report.disclaim(header)
    return report


def draw_attitudes(axis: Axes, points: pd.DataFrame, at: str, value: str, look: Mapping[str, Any], **line: Any) -> None:
    """Draw the attitudes of one party in one condition. at, value: columns of points. line: the line style of the condition."""
    marker: Any = {"color": look["color"], "marker": look["markers"][0], "markersize": 3}
    axis.errorbar(points[at], points[value], linewidth=1.1, elinewidth=0.7, **marker, **line)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def legend_lines(
    looks: Mapping[str, Mapping[str, Any]], lines: Mapping[str, Mapping[str, Any]], names: PartyNames = NO_NAMES
) -> list[Line2D]:
    """Return the entries of a legend: a marker per party, and a line style per condition. names: of parties."""
    parties = [
        Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=seat_title(party, names))
        for party, look in looks.items()
    ]
    return [*parties, *(Line2D([], [], color="#333333", label=name, **line) for name, line in lines.items())]
