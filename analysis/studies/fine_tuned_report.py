"""The report of a study before and after fine-tuning: tables with intervals, the paper's figure, what to make of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from agents.topic import load_topic
from analysis import honesty
from analysis.metrics._cells import DEFAULT
from analysis.plots import STYLES, save, style
from analysis.studies.fine_tuned import AFTER, BEFORE, SEATS, Found
from analysis.wording import estimate, markdown_table, number
from model.scenario import Scenario

LINES: dict[str, Any] = {BEFORE: "-", AFTER: ":", SEATS: (0, (4, 2))}
"""Solid before, dotted after (as in the paper), dashed with adapters per seat."""


def write(found: Found, folder: Path, base: Scenario) -> Path:
    """Write shifts.csv, remedy.csv, points.csv, fine_tuned.png and .svg, fine_tuned.md; the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("points", "shifts", "remedy"):
        getattr(found, name).to_csv(folder / f"{name}.csv", index=False)
    model = honesty.model(found.header)
    caption = f"{base.repetitions} rooms a topic, {base.rounds} rounds, seed {base.seed}, {base.probe}, {model}"
    save(figure(found, caption), folder / "fine_tuned")
    path = folder / "fine_tuned.md"
    path.write_text("\n".join(_lines(found, caption)) + "\n", encoding="utf-8")
    return path


def figure(found: Found, caption: str) -> Figure:
    """A row for each direction (and for adapters per seat), a column for each topic."""
    rows = [(kind, direction) for kind, direction in found.points[["kind", "direction"]].drop_duplicates().itertuples(index=False)
            if kind != BEFORE]  # fmt: skip
    columns = list(found.points["topic"].unique())
    with style():
        drawn = Figure(figsize=(1.75 * len(columns) + 0.4, 1.6 * len(rows) + 0.7), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(max(len(rows), 1), len(columns), sharex=True, sharey=True, squeeze=False)
        for axes, (kind, direction) in zip(grid, rows, strict=True):
            for axis, topic in zip(axes, columns, strict=True):
                _panel(axis, found.points[found.points["topic"] == topic], kind, direction)
            axes[0].set_ylabel(f"{direction.title()} adapter" if direction else "adapters per seat")
        for axis, topic in zip(grid[0], columns, strict=True):
            axis.set_title(load_topic(topic).heading)
        for axis in grid[-1]:
            axis.set(xlabel="replies", xticks=sorted(found.points["iteration"].unique()))
        handles = _legend({kind for kind, _ in rows})
        drawn.legend(
            handles=handles, loc="outside lower center", ncols=6 if len(columns) > 2 else 3, frameon=False, fontsize=7
        )
        drawn.suptitle(caption, fontsize=7)
    return drawn


def _panel(axis: Axes, points: pd.DataFrame, kind: str, direction: str) -> None:
    for party, look in STYLES.items():
        for shown, line in ((BEFORE, ""), (kind, direction)):
            part = points[(points["kind"] == shown) & (points["direction"] == line) & (points["party"] == party)]
            axis.plot(part["iteration"], part["attitude"], color=look["color"], marker=look["markers"][0], markersize=3,
                      linewidth=1.1, linestyle=LINES[shown], fillstyle="full" if shown == BEFORE else "none")  # fmt: skip
    axis.set_ylim(0, 10)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _legend(kinds: set[str]) -> list[Line2D]:
    parties = [Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=party.title())
               for party, look in STYLES.items()]  # fmt: skip
    lines = [Line2D([], [], color="#333333", linestyle=LINES[kind], label=kind) for kind in (BEFORE, *sorted(kinds))]
    return [*parties, *lines]


def _lines(found: Found, caption: str) -> Iterator[str]:
    yield f"# Before and after fine-tuning\n\n{caption}."
    yield "Brackets hold 95% intervals over rooms; everything is compared within rooms.\n"
    if note := honesty.note(found.header):
        yield f"{note}\n"
    yield "![Attitude by reply](fine_tuned.png)\n"
    for direction, rows in found.shifts.groupby("direction", sort=False):
        yield f"## On the {direction.title()} adapter\n\n{_headline(rows)}\n"
        yield markdown_table(_HEAD, [_row(row) for row in rows.to_dict("records")]) + "\n"
    if len(found.remedy):
        yield f"## Adapters per seat\n\n{_verdict(found.remedy)}\n"
        cells = [[*_row(row), number(row["p"], 3)] for row in found.remedy.to_dict("records")]
        yield markdown_table([*_HEAD, "p (Wilcoxon)"], cells) + "\n"


_HEAD = ("topic", "party", "measure", "before", "after", "change", "by training seed", "rooms")


def _row(row: dict[str, Any]) -> list[str]:
    seeds = ", ".join(number(one) for one in row["seeds"])
    change = estimate(row["shift"], row["shift_low"], row["shift_high"])
    told = [number(row["before"]), number(row["after"]), change, seeds, f"{row['rooms']}"]
    return [load_topic(row["topic"]).heading, row["party"].title(), row["measure"], *told]


def _headline(rows: pd.DataFrame) -> str:
    """How many of the Default's ratings and grades went to the side of the direction."""
    own = rows[rows["party"] == DEFAULT]
    moved = ((own["wanted"] > 0) & (own["shift_low"] > 0)) | ((own["wanted"] < 0) & (own["shift_high"] < 0))
    parts = [
        f"{name}: {int(part.sum())} of {len(part)} topics" for name, part in moved.groupby(own["measure"], sort=False)
    ]
    return f"The Default moved to the side of the adapter's party ({'; '.join(parts)})."


def _verdict(rows: pd.DataFrame) -> str:
    less, more = int((rows["shift_high"] < 0).sum()), int((rows["shift_low"] > 0).sum())
    return (
        f"Drift toward the base model's Default became less in {less} of {len(rows)} lines (one a topic and party), "
        f"more in {more}; for {len(rows) - less - more} it cannot be told."
    )
