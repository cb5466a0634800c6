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

from parley.agents.topic import load_topic
from parley.analysis import honesty
from parley.analysis.bootstrap import FEWEST
from parley.analysis.looks import STYLES
from parley.analysis.metrics._cells import DEFAULT
from parley.analysis.plots import add_caption, save, style
from parley.analysis.studies.fine_tuned import AFTER, BEFORE, SEATS, Found
from parley.analysis.wording import estimate, markdown_table, number
from parley.model.scenario import Scenario

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


MEASURES = {"attitude": "rating", "expected": "expected rating"}
"""What is drawn: what the paper draws, the answer at temperature 0, and the mean of the answer distribution where it is known."""


def figure(found: Found, caption: str) -> Figure:
    """Two rows for each direction (and for adapters per seat), rating and expected rating; a column for each topic."""
    points = found.points
    kinds = [(kind, direction) for kind, direction in points[["kind", "direction"]].drop_duplicates().itertuples(index=False)
             if kind != BEFORE]  # fmt: skip
    drawable = [name for name in MEASURES if points[name].notna().any()] or ["attitude"]
    rows = [(kind, direction, measure) for kind, direction in kinds for measure in drawable]
    columns = list(points["topic"].unique())
    with style():
        drawn = Figure(figsize=(1.75 * len(columns) + 0.6, 1.6 * len(rows) + 0.9), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(max(len(rows), 1), len(columns), sharex=True, sharey=True, squeeze=False)
        for axes, (kind, direction, measure) in zip(grid, rows, strict=False):
            for axis, topic in zip(axes, columns, strict=True):
                _panel(axis, points[points["topic"] == topic], kind, direction, measure)
            axes[0].set_ylabel(
                f"{direction.title() + ' adapter' if direction else 'adapters per seat'}\n{MEASURES[measure]}"
            )
        for axis, topic in zip(grid[0], columns, strict=True):
            axis.set_title(load_topic(topic).heading)
        for axis in grid[-1]:
            axis.set(xlabel="replies", xticks=sorted(points["iteration"].unique()))
        handles = _legend({kind for kind, _ in kinds})
        drawn.legend(
            handles=handles, loc="outside lower center", ncols=6 if len(columns) > 2 else 3, frameon=False, fontsize=7
        )
        add_caption(drawn, f"{caption}\n{_bars(points)}")
    return drawn


def _bars(points: pd.DataFrame) -> str:
    trained = points[points["kind"] != BEFORE]
    seeds = int(trained["seeds"].max()) if len(trained) else 0
    over = (
        f"over {seeds} training seeds (before fine-tuning: over rooms)"
        if seeds > 1
        else "over rooms: one training seed"
    )
    return f"Bars: one standard error, {over}."


def _panel(axis: Axes, points: pd.DataFrame, kind: str, direction: str, measure: str) -> None:
    for party, look in STYLES.items():
        for shown, line in ((BEFORE, ""), (kind, direction)):
            part = points[(points["kind"] == shown) & (points["direction"] == line) & (points["party"] == party)]
            axis.errorbar(part["iteration"], part[measure], yerr=part[f"{measure}_error"], color=look["color"],
                          marker=look["markers"][0], markersize=3, linewidth=1.1, elinewidth=0.7, linestyle=LINES[shown],
                          fillstyle="full" if shown == BEFORE else "none")  # fmt: skip
    axis.set_ylim(0, 10)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _legend(kinds: set[str]) -> list[Line2D]:
    parties = [Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=party.title())
               for party, look in STYLES.items()]  # fmt: skip
    lines = [Line2D([], [], color="#333333", linestyle=LINES[kind], label=kind) for kind in (BEFORE, *sorted(kinds))]
    return [*parties, *lines]


def _lines(found: Found, caption: str) -> Iterator[str]:
    yield f"# Before and after fine-tuning\n\n{caption}."
    yield f"{_unit(found.shifts)} Everything is compared within rooms: same people, seats and seeds.\n"
    if note := honesty.note(found.header):
        yield f"{note}\n"
    yield "![Rating and expected rating by reply](fine_tuned.png)\n"
    yield (
        "`first` and `last` are answers at temperature 0, which the paper draws; `expected` is the mean of the answer "
        "distribution. A model can move the second without the first: then its likeliest answer has stayed.\n"
    )
    for direction, rows in found.shifts.groupby("direction", sort=False):
        yield f"## On the {direction.title()} adapter\n\n{_headline(rows)}\n"
        yield markdown_table(_HEAD, [_row(row) for row in rows.to_dict("records")]) + "\n"
    if len(found.remedy):
        yield f"## Adapters per seat\n\n{_verdict(found.remedy)}\n"
        yield markdown_table(_HEAD, [_row(row) for row in found.remedy.to_dict("records")]) + "\n"


_HEAD = (
    "topic",
    "party",
    "measure",
    "before",
    "after",
    "change",
    "by training seed",
    "over rooms, these adapters",
    "rooms",
)


def _unit(rows: pd.DataFrame) -> str:
    """What the intervals of the column `change` are over, or why there are none."""
    seeds = _seeds(rows)
    if seeds >= FEWEST:
        return f"The brackets of `change` hold 95% intervals over {seeds} training seeds."
    return (
        f"{seeds} training seed{'s' * (seeds != 1)}: what follows holds for {'these adapters' if seeds != 1 else 'this adapter'} "
        f"only, and says nothing of the recipe. {FEWEST} seeds are needed for an interval (`--tuned` given {FEWEST} times)."
    )


def _seeds(rows: pd.DataFrame) -> int:
    return max(map(len, rows["seeds"]), default=0)


def _row(row: dict[str, Any]) -> list[str]:
    seeds = ", ".join(number(one) for one in row["seeds"])
    change = estimate(row["shift"], row["shift_low"], row["shift_high"])
    rooms = f"{number(row['rooms_low'])} to {number(row['rooms_high'])}" if pd.notna(row["rooms_low"]) else "–"
    told = [number(row["before"]), number(row["after"]), change, seeds, rooms, f"{row['rooms']}"]
    return [load_topic(row["topic"]).heading, row["party"].title(), row["measure"], *told]


def _headline(rows: pd.DataFrame) -> str:
    """On how many topics each of the Default's measures went to the side of the direction, and on how many away from it."""
    own = rows[rows["party"] == DEFAULT]
    parts = [f"{name}: {_counted(part)}" for name, part in own.groupby("measure", sort=False)]
    return f"The Default, toward the side of the adapter's party: {'; '.join(parts)}."


def _counted(part: pd.DataFrame) -> str:
    """With enough training seeds by their intervals; else in how many topics every adapter went there, which is no verdict."""
    if _seeds(part) >= FEWEST:
        there = ((part["wanted"] > 0) & (part["shift_low"] > 0)) | ((part["wanted"] < 0) & (part["shift_high"] < 0))
        away = ((part["wanted"] < 0) & (part["shift_low"] > 0)) | ((part["wanted"] > 0) & (part["shift_high"] < 0))
        unclear = len(part) - int(there.sum()) - int(away.sum())
        return f"{int(there.sum())} of {len(part)} topics, {int(away.sum())} away, {unclear} not clear"
    signs = [[one * wanted for one in seeds] for seeds, wanted in zip(part["seeds"], part["wanted"], strict=True)]
    there, away = (sum(bool(own) and all(sign * one > 0 for one in own) for own in signs) for sign in (1, -1))
    return f"{there} of {len(part)} topics with every adapter at hand, {away} away"


def _verdict(rows: pd.DataFrame) -> str:
    if _seeds(rows) < FEWEST:
        less = sum(bool(own) and all(one < 0 for one in own) for own in rows["seeds"])
        return (
            f"Drift toward the base model's Default is smaller with every pair of adapters at hand in {less} of {len(rows)} "
            "lines (one a topic, party and measure). That is no verdict on the recipe: there are too few training seeds."
        )
    less, more = int((rows["shift_high"] < 0).sum()), int((rows["shift_low"] > 0).sum())
    return (
        f"Drift toward the base model's Default became smaller in {less} of {len(rows)} lines (one a topic, party and measure), "
        f"larger in {more}; {len(rows) - less - more} are not clear."
    )
