"""The report of a study with and without interventions: what was done, what it changed, a figure of both branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parley.analysis import honesty, outside
from parley.analysis.bootstrap import FEWEST
from parley.analysis.looks import of_run
from parley.analysis.plots import MARK, add_caption, mark, save, style
from parley.analysis.studies.intervention import PLACEBO, WITH, WITHOUT, Found
from parley.analysis.wording import counted, estimate, group_title, harmless, markdown_table, number, plain, seat_title
from parley.model.interventions.base import Saying

LINES: dict[str, Any] = {WITH: "-", PLACEBO: "--", WITHOUT: ":"}
"""Solid with interventions, dashed with a placebo, dotted without."""

HOW = """Both branches have the same rooms, people and seeds, and are the same word for word before round {} (checked). After it \
an effect is with minus without, within rooms, agents of a room averaged first; brackets hold 95% intervals over \
rooms, and nothing is corrected for the number of rows. An effect without brackets cannot be told from none: fewer than 5 rooms, \
or the same difference in all. Replies after it are sampled anew in both branches: without any effect \
ratings would differ by chance too, and the intervals hold that.{}
"""
NO_PLACEBO = " To tell what was said from that something was said, hold it with --placebo."


def write(found: Found, folder: Path) -> Path:
    """Write effects.csv, points.csv, intervention.png and .svg, intervention.md into the study's folder; the path of the last."""
    for name in ("effects", "points"):
        getattr(found, name).to_csv(folder / f"{name}.csv", index=False)
    scenario = found.tables.header.scenario
    if found.beside is not None:
        found.beside.to_csv(folder / "placebo.csv", index=False)
    told = f"{scenario['name']} on {honesty.model(found.tables.header)}, seed {scenario['seed']}"
    save(figure(found, plain(told)), folder / "intervention")
    path = folder / "intervention.md"
    path.write_text("\n".join(_lines(found, told)) + "\n", encoding="utf-8")
    return path


def figure(found: Found, caption: str) -> Figure:
    """A row for each group, a column for each topic."""
    points = found.points
    groups, topics = list(points["group"].unique()), list(points["topic"].unique())
    shown = set(points["party"])
    looks = {party: look for party, look in of_run(found.tables).items() if party in shown}
    with style():
        drawn = Figure(figsize=(max(1.75 * len(topics) + 0.4, 3.5), 1.9 * len(groups) + 0.9), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(len(groups), len(topics), sharey=True, squeeze=False)
        for row, group in zip(grid, groups, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                _panel(axis, points[(points["group"] == group) & (points["topic"] == topic)], looks)
                mark(axis, found.tables, group, topic)
            name = f"{group_title(group, found.tables.names)}\n" if len(groups) > 1 else ""
            row[0].set_ylabel(f"{name}Attitude (0–10)")
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(found.tables.title(topic))
        for axis in grid[-1]:
            axis.set_xlabel("Number of replies")
        drawn.legend(handles=_legend(looks, points), loc="outside lower center", ncols=3, frameon=False, fontsize=7)
        add_caption(drawn, caption)
    return drawn


def _panel(axis: Axes, points: pd.DataFrame, looks: dict[str, Any]) -> None:
    for (party, branch), line in points.groupby(["party", "branch"], sort=False):
        axis.plot(
            line["iteration"], line["attitude"], color=looks[party]["color"], marker=looks[party]["markers"][0], markersize=3,
            linewidth=1.1, linestyle=LINES[branch], fillstyle="full" if branch == WITH else "none",
        )  # fmt: skip
    axis.set_ylim(-0.3, 10.3)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _legend(looks: dict[str, Any], points: pd.DataFrame) -> list[Line2D]:
    held = set(points["branch"])
    parties = [
        Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=seat_title(party))
        for party, look in looks.items()
    ]
    lines = [
        Line2D([], [], color="#333333", linestyle=LINES[branch], label=branch) for branch in LINES if branch in held
    ]
    return [*parties, *lines, Line2D([], [], label="intervention", **MARK)]


def _lines(found: Found, caption: str) -> Iterator[str]:
    yield f"# With and without\n\n{harmless(caption)}.\n"
    if note := honesty.note(found.tables.header):
        yield f"> {note}\n"
    yield "![Attitudes with and without](intervention.png)\n"
    yield f"{_headline(found.effects)}\n"
    yield HOW.format(found.first, NO_PLACEBO if found.beside is None else "")
    if found.untouched:
        yield f"In {counted(found.untouched, 'room')} nobody was meant; they are left out.\n"
    yield from outside.told(found.tables)
    yield "## Effects\n"
    yield from _effects(found, found.effects)
    if found.beside is not None:
        yield (
            f'## Beside a placebo\n\nThe same timetable with "{Saying.EMPTY}" in the place of all that is said: what it changes '
            "is that there was an interruption; what the interventions change against it is what was said. Every round is in "
            "`placebo.csv`.\n"
        )
        for contrast, part in found.beside.groupby("contrast", sort=False):
            yield f"**{contrast}**\n"
            yield from _effects(found, part)
    attitudes = found.effects[found.effects["measure"] == "attitude"]
    if missing := int(attitudes["missing"].sum()):
        yield f"Pairs of ratings left out because one could not be read: {missing:,}.\n"
    yield "Every round is in `effects.csv`; the branches are whole runs, each in a folder with its own summary and transcript."


def _headline(effects: pd.DataFrame) -> str:
    last = estimates(effects[effects["round"] == effects["round"].max()])
    up, down = int((last["effect_low"] > 0).sum()), int((last["effect_high"] < 0).sum())
    found = (
        f"Of {counted(len(last), 'line')} (one per topic, group and party), opinions after the last round are higher with than "
        f"without in {up}, lower in {down}; for {len(last) - up - down} this cannot be told."
    )
    few = int((last["rooms"] < FEWEST).sum())
    return found + (f" {few} of them have fewer than {FEWEST} rooms: run more with `--repetitions`." if few else "")


def estimates(effects: pd.DataFrame) -> pd.DataFrame:
    """One row a line: that of `expected`, the mean of the answer distribution, where it is known of every rating; else of
    `attitude`, which is rounded to a point.
    """
    keys = ["topic", "group", "party", "told", "round"]
    rated, expected = (effects[effects["measure"] == name].set_index(keys) for name in ("attitude", "expected"))
    counts = ["rooms", "missing"]
    sure = expected[(expected[counts] == rated[counts].reindex(expected.index)).all(axis=1)]
    return pd.concat([sure, rated.drop(sure.index)]).reset_index()


def _effects(found: Found, effects: pd.DataFrame) -> Iterator[str]:
    """A line a topic, group, party, whether it was told, and measure: without and with, first and last round (or the one)."""
    keys = ["topic", "group", "party", "told", "measure"]
    shown = [key for key in keys if key in ("topic", "party") or effects[key].nunique() > 1]
    ends = list(dict.fromkeys([effects["round"].min(), effects["round"].max()]))
    rows = []
    for values, line in effects.groupby(keys, sort=False):
        known = dict(zip(keys, values, strict=True))
        at = line.set_index("round").reindex(ends)  # who joins or leaves has no ratings in some rounds
        last = at.loc[ends[-1]]
        rooms = f"{0 if pd.isna(last['rooms']) else last['rooms']:.0f}"
        cells = [
            number(last[WITHOUT]),
            number(last[WITH]),
            *(_effect(at.loc[end]) for end in ends),
            rooms,
            number(last["sd"]),
        ]
        rows.append([_key(found, key, known[key]) for key in shown] + cells)
    named = str(effects["contrast"].iloc[0]).split(" - ")[::-1] if "contrast" in effects else [WITHOUT, WITH]
    after = [f"effect after round {ends[0]}", *(f"after round {end}" for end in ends[1:])]
    yield (
        markdown_table([*shown, f"{named[0]}, at the end", named[1], *after, "rooms", "SD of the effect"], rows) + "\n"
    )


def _effect(row: pd.Series) -> str:
    return estimate(row["effect"], row["effect_low"], row["effect_high"])


def _key(found: Found, key: str, value: Any) -> str:
    told: dict[str, Callable[[str], str]] = {"topic": found.tables.title, "group": group_title, "party": seat_title}
    return told[key](value) if key in told else {True: "yes", False: "no"}.get(value, str(value))
