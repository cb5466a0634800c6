"""The report on archetypes: what was saved beside what it cost, by cell, and a figure of both runs."""

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
from parley.analysis.looks import looks
from parley.analysis.plots import add_caption, save, style
from parley.analysis.studies.archetypes import ALL, SHARED, Found
from parley.analysis.wording import estimate, group_title, markdown_table, number
from parley.llm.archetypes import REUSE
from parley.model.scenario import Scenario

LOOKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (ALL, "mean_all", {"linestyle": "-", "fillstyle": "full"}),
    (SHARED, "mean_shared", {"linestyle": (0, (4, 2)), "fillstyle": "none"}),
)
HEAD = (
    "topic",
    "group",
    "party",
    "round",
    "people",
    "rooms",
    "mean",
    "off by",
    "spread",
    "off by",
    "drawn",
    "error",
    "of a stranger",
)


def write(found: Found, folder: Path, base: Scenario, size: int) -> Path:
    """Write cells.csv, savings.csv, archetypes.png and .svg, archetypes.md; the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    found.cells.to_csv(folder / "cells.csv", index=False)
    found.savings.to_csv(folder / "savings.csv", index=False)
    caption = (
        f"{base.name} on {honesty.model(found.header)}, {base.repetitions} repetitions, seed {base.seed}, {size} a kind"
    )
    save(figure(found, caption), folder / "archetypes")
    path = folder / "archetypes.md"
    path.write_text("\n".join(_lines(found, caption, size)) + "\n", encoding="utf-8")
    return path


def _lines(found: Found, caption: str, size: int) -> Iterator[str]:
    yield f"# Archetypes: what they save and what they cost\n\n{caption}.\n"
    if note := honesty.note(found.header):
        yield f"> {note}\n"
    yield f"{headline(found)}\n\n![Both runs](archetypes.png)\n\n## What was saved\n"
    names = [name for name in found.savings if name != "run"]
    counts = [[row["run"], *[f"{row[name]:,}" for name in names]] for row in found.savings.to_dict("records")]
    yield markdown_table(["run", *[name.replace("_", " ") for name in names]], counts) + "\n"
    yield (
        f"{size} people of a kind (topic, group, party, persona variant, survey, rating before in whole points) are asked; the "
        f"others draw one of their answers each. After {REUSE} draws for each answer the kind is asked again, and a sample that "
        "has drifted is replaced. Main probe only: what is said is asked of everybody.\n\n## What it cost\n"
    )
    yield (
        "Spread is the standard deviation over people. Error is the mean absolute difference of a person's two ratings (0-10). "
        "It is over the people whose rating was drawn; those who were asked have the answer they gave. Of a stranger: what the "
        "error of the same people would be if each had the rating of somebody else of the same row. Brackets hold 95% intervals "
        "over rooms, for these answers of those asked: with others asked a mean would be off by something else. "
        f"{found.same:.0%} of the lines said are the same in both runs. First and last round; all are in cells.csv.\n"
    )
    cells = found.cells
    ends = cells[cells["round"].isin([cells["round"].min(), cells["round"].max()])]
    yield markdown_table(HEAD, [_row(row) for row in ends.to_dict("records")]) + "\n"


def headline(found: Found) -> str:
    """What was saved, and what it cost the people whose rating was drawn."""
    whole, shared = found.savings.to_dict("records")
    told = (
        f"{shared['surveys']:,} survey calls instead of {whole['surveys']:,}, {shared['calls']:,} instead of {whole['calls']:,} "
        "in all. "
    )
    one, off = found.overall, found.cells["mean_off"].abs().max()
    if not one["drawn"]:
        return f"{told}No rating was drawn: each kind has no more people than are asked of it."
    error, stranger, gain = (estimate(one[name], *_ends(one, name)) for name in ("error", "stranger", "gain"))
    return (
        f"{told}{one['drawn']:,} of {one['n']:,} ratings were drawn from others' answers. These are off by {error} points on "
        f"average; the rating of a stranger of the same row would be off by {stranger}: {_kept(one, gain)}. "
        f"The mean of a row is off by {off:.2f} at most."
    )


def _kept(one: dict[str, Any], gain: str) -> str:
    if one["gain_low"] > 0:
        return f"a draw is nearer to the person by {gain} points"
    return f"that a draw holds anything of the person is not shown (stranger minus draw: {gain} points)"


def _ends(row: dict[str, Any], name: str) -> tuple[float, float]:
    return row[f"{name}_low"], row[f"{name}_high"]


def _row(row: dict[str, Any]) -> list[str]:
    names = [load_topic(row["topic"]).heading, group_title(row["group"]), row["party"].title(), str(row["round"])]
    told = [estimate(row[name], *_ends(row, name)) for name in ("mean_off", "sd_off", "error")]
    sizes = [str(row["n"]), str(row["rooms"])]
    return [
        *names,
        *sizes,
        number(row["mean_all"]),
        told[0],
        number(row["sd_all"]),
        told[1],
        str(row["drawn"]),
        told[2],
        number(row["stranger"]),
    ]


def figure(found: Found, caption: str) -> Figure:
    """A row a group, a column a topic: means of both runs by round and party."""
    groups, topics = (list(found.cells[name].unique()) for name in ("group", "topic"))
    with style():
        drawn = Figure(figsize=(1.75 * max(len(topics), 2) + 0.6, 1.6 * len(groups) + 0.9), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(len(groups), len(topics), sharex=True, sharey=True, squeeze=False)
        parties = list(found.cells["party"].unique())
        for axes, group in zip(grid, groups, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                cells = found.cells[(found.cells["group"] == group) & (found.cells["topic"] == topic)]
                _panel(axis, cells, parties)
            axes[0].set_ylabel("attitude (0–10)")
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(load_topic(topic).heading)
        for axis in grid[-1]:
            axis.set(xlabel="round")
        drawn.legend(handles=_legend(parties), loc="outside lower center", ncols=3, frameon=False, fontsize=7)
        add_caption(drawn, caption)
    return drawn


def _panel(axis: Axes, cells: pd.DataFrame, parties: list[str]) -> None:
    for party, rows in cells.groupby("party", sort=False):
        look = _look(str(party), parties)
        for _, column, how in LOOKS:
            axis.plot(rows["round"], rows[column], **look, **how, linewidth=1.1)
    axis.set_ylim(0, 10)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _look(party: str, parties: list[str]) -> dict[str, Any]:
    found = looks(parties)[party]
    return {"color": found["color"], "marker": found["markers"][0], "markersize": 3.5}


def _legend(parties: list[str]) -> list[Line2D]:
    people = [Line2D([], [], **_look(party, parties), label=party.title()) for party in parties]
    return [*people, *[Line2D([], [], color="#333333", **how, label=run) for run, _, how in LOOKS]]
