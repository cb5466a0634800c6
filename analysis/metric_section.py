"""The section of a metric in a report: its note and its table."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pandas as pd

from parley.analysis import formatting as words
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.model.titles import group_title, seat_title


def add_metric(report: Report, tables: Tables, metric: ModuleType, frame: pd.DataFrame) -> None:
    """Add a metric's table. A column that is empty, or the same number of rooms in each row, is left out."""
    report.section(metric.TITLE)
    if frame.empty:
        report.add("Nothing can be reported, because no party has ratings from two surveys.")
        return
    note = f" n = {words.format_range(frame['rooms'])} rooms per row." if "rooms" in frame else ""
    shown = [name for name in metric.LABELS if frame[name].notna().any()]
    if "rooms" in shown and frame["rooms"].nunique() == 1:
        shown.remove("rooms")
    keys = _row_keys(frame, metric)
    if "round" in keys:
        note += " The table shows the first and the last round; the other rounds are in the folder `tables/`."
        ends = frame.groupby(["topic", "group"])["round"].transform(lambda of: of.isin([of.min(), of.max()]))
        frame = frame[ends]
    about = metric.note(frame) if hasattr(metric, "note") else metric.NOTE
    report.add(f"{about}{note}")
    rows = [
        [_key_title(tables, key, row[key]) for key in keys] + [_cell(row, name) for name in shown]
        for row in frame.to_dict("records")
    ]
    report.table(rows, [*keys, *[metric.LABELS[name] for name in shown]])


def _row_keys(frame: pd.DataFrame, metric: ModuleType) -> list[str]:
    """Return the columns that distinguish the rows; at least the party, the round or the group, if there is one."""
    keys = [key for key in ("topic", "group") if key in frame and frame[key].nunique() > 1]
    if "round" in frame and "round" not in metric.LABELS:
        return [*keys, "round"]
    further = [key for key in ("party", "group") if key in frame][:1]
    return [*keys, *further] if not keys or frame.duplicated(keys).any() else keys


def _key_title(tables: Tables, key: str, value: Any) -> str:
    if key == "topic":
        return tables.title(value)
    if key == "round":
        return str(value)
    return group_title(value, tables.names) if key == "group" else seat_title(value, tables.names)


def _cell(row: Mapping[Any, Any], name: str) -> str:
    return words.estimate(name)(row) if f"{name}_low" in row else words.format_number(row[name])
