"""deviation.md: how far what is said is from the news, by role and step, as a table and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.bootstrap import mean_interval
from parley.analysis.formatting import (
    count_phrase,
    count_table,
    escape_markdown,
    format_estimate,
    markdown_table,
    strip_controls,
)
from parley.analysis.party_styles import OTHERS, STYLES
from parley.analysis.plots import add_caption, save, style
from parley.analysis.tables import Tables

WHAT = (
    "**This is the distance of opinions, not the evolution of a story.** The news is one line, told to some at the start; all "
    "others speak from what they think. The distance does not begin at 0 and does not show how news changes from one telling to "
    "the next, which is what FUSE (Liu et al. 2024) measures."
)
LOOKS = (*OTHERS, *STYLES.values())
EVERYBODY = "everybody"


def by_role(found: pd.DataFrame) -> pd.DataFrame:
    """One row a role (and everybody) and round: rooms, utterances, missing, deviation (mean of room means, 0-10), low, high."""
    parts = [(EVERYBODY, found), *((str(role), part) for role, part in found.groupby("role"))]
    rows = [_row(role, int(str(round_)), part) for role, whole in parts for round_, part in whole.groupby("round")]
    return pd.DataFrame(rows)


def _row(role: str, round_: int, part: pd.DataFrame) -> dict[str, object]:
    rooms = part.groupby("room", sort=False)["deviation"].mean().dropna().to_numpy(dtype=float)
    low, high = mean_interval(rooms)
    told = {"rooms": len(rooms), "utterances": len(part), "missing": int(part["deviation"].isna().sum())}
    mean = float(rooms.mean()) if len(rooms) else np.nan
    return {"role": role, "round": round_, **told, "deviation": mean, "low": low, "high": high}


def figure(points: pd.DataFrame, caption: str) -> Figure:
    """A line for each role, by step; bars are 95% intervals over rooms."""
    with style():
        drawn = Figure(figsize=(3.8, 3.0), layout="constrained")
        FigureCanvasAgg(drawn)
        axis = drawn.subplots()
        roles = [role for role in points["role"].unique() if role != EVERYBODY]
        for number, role in enumerate(roles):
            line, look = points[points["role"] == role], LOOKS[number % len(LOOKS)]
            bars = [(line["deviation"] - line["low"]).fillna(0), (line["high"] - line["deviation"]).fillna(0)]
            axis.errorbar(
                line["round"], line["deviation"], yerr=bars, label=role, color=look["color"], marker=look["markers"][0],
                linestyle=look["linestyle"], markersize=3.5, linewidth=1.0, capsize=2, elinewidth=0.8,
            )  # fmt: skip
        axis.set_ylim(-0.3, 10.3)
        axis.set_xlabel("Step")
        axis.set_ylabel("Distance from the news (0–10)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=7)
        add_caption(drawn, caption)
    return drawn


def write(found: pd.DataFrame, tables: Tables, source: str, folder: Path, spec: str) -> Path:
    """Write deviation.md, deviation.csv and the figure; the path of the first."""
    points = by_role(found)
    points.to_csv(folder / "deviation.csv", index=False)
    scenario = tables.header.scenario
    save(
        figure(points, strip_controls(f"{scenario['name']} on {disclaimers.model_label(tables.header)}")),
        folder / "deviation",
    )
    path = folder / "deviation.md"
    path.write_text("\n\n".join(_parts(found, points, tables, source, spec)) + "\n", encoding="utf-8")
    return path


def _parts(found: pd.DataFrame, points: pd.DataFrame, tables: Tables, source: str, spec: str) -> Iterator[str]:
    yield "# How far what is said is from the news"
    yield f"> {WHAT}"
    yield f"The news: {escape_markdown(source)}"
    yield (
        f"{count_phrase(len(found), 'utterance')}, each compared with it by {spec}: 0 "
        "says the same, 10 has nothing of it left. Means "
        "of room means; brackets hold 95% intervals over rooms. Roles are drawn by lot; whom one hears is not."
    )
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}"
    unread = found.loc[found["deviation"].isna(), "reason"]
    yield f"{len(unread)} of {len(found):,} lack a verdict{f' ({count_table(unread)})' if len(unread) else ''}."
    yield "![Distance by role and step](deviation.png)"
    rounds = sorted(points["round"].unique())
    rows = []
    for role, part in points.groupby("role", sort=False):
        line = part.set_index("round")[["deviation", "low", "high"]].reindex([rounds[0], rounds[-1]])
        told = [format_estimate(*values) for values in line.to_numpy(dtype=float)]
        rows.append(
            [str(role), str(part["utterances"].sum()), str(part["missing"].sum()), str(part["rooms"].max()), *told]
        )
    heads = ["role", "utterances", "missing", "rooms", f"step {rounds[0]}", f"step {rounds[-1]}"]
    yield markdown_table(heads, rows)
    yield "Every step is in `deviation.csv`, every verdict in `verdicts.csv`."
