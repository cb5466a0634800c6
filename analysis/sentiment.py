"""How negative or positive the posts of a run are, round by round, by a judge who knows neither author nor round.

Written: sentiment.md with the curve of sentiment and the number of posts by round, and data of the user if there are any.
The unit is the room: posts of a room in a round are averaged first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.reply_cleaning import one_line
from parley.analysis import disclaimers
from parley.analysis.figure_text import rooms_phrase
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, count_phrase, count_table, estimate
from parley.analysis.judging import Item, Judge, journaled_verdicts, load_rubric
from parley.analysis.report import Report
from parley.analysis.sentiment_data import COMPARED, compare_with_data, sentences
from parley.analysis.statistics.intervals import POSITIVE, SCALE, mean_interval
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar

RUBRIC = load_rubric("sentiment")
ROOM = ["topic", "group", "repetition", "room"]
MEASURES = ("posts", "sentiment")
DATA = {"color": "#222222", "markers": "o", "linestyle": "-"}
"""The look of the user's data."""
HOW = (
    "{} scored how negative or positive the feeling in each of {} is, from 0 (very negative) to 10 (very positive); 5 is "
    "neutral. It saw the text alone. Posts of a room in a round are averaged first; numbers are means over rooms, with 95% "
    "intervals over rooms in brackets. Rooms without a post in a round count as 0 posts, and have no sentiment there."
)
OVER = "Intervals of the comparison are over repetitions, because the same people meet on every topic of a repetition."
COLUMNS: Mapping[str, Column] = {
    "round": "round", "rooms": "rooms", "posts in a room": estimate("posts"), "missing": "missing",
    "sentiment": estimate("sentiment"),
}  # fmt: skip


def judge_sentiment(
    tables: Tables, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT
) -> pd.DataFrame:
    """Return the table of `verdicts`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    return journaled_verdicts(RUBRIC, spec, folder, bar, seed, lambda judge: verdicts(tables, judge, seed), budget)


def verdicts(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """Return one row per utterance: WHO, text, sentiment (0-10, or NaN), reason."""

    def item(row: Any) -> Item:
        return Item((f"{row.room} {row.iteration}",), {"statement": one_line(str(row.text))})

    table = judge.judge_utterances(RUBRIC, tables, seed, {"sentiment": item}, "posts")
    return table.drop(columns="readings").rename(columns={"reasons": "reason"})


def rounds_of_rooms(verdicts: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Return one row per room and round: ROOM, round, posts, missing (posts without a score), sentiment (mean; NaN: no score)."""
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    rounds = pd.DataFrame({"round": range(1, int(tables.header.scenario["rounds"]) + 1)})
    said = verdicts[verdicts["text"].notna()].groupby(["room", "round"])["sentiment"]
    counted = said.agg(posts="size", scored="count", sentiment="mean").reset_index()
    every = seats.drop_duplicates("room")[ROOM].merge(rounds, how="cross")
    found = every.merge(counted, how="left", on=["room", "round"]).fillna({"posts": 0, "scored": 0})
    found["missing"] = (found["posts"] - found.pop("scored")).astype("int64")
    return found


def by_round(rooms: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic, group and round: rooms (with a score), missing, posts and sentiment with their intervals."""
    rows = []
    for keys, part in rooms.groupby(["topic", "group", "round"], sort=False):
        row: dict[str, Any] = dict(zip(("topic", "group", "round"), keys, strict=True))
        row |= {"rooms": int(part["sentiment"].notna().sum()), "missing": int(part["missing"].sum())}
        for measure in MEASURES:
            values = part[measure].dropna().to_numpy(dtype=float)
            low, high = mean_interval(values, bounds=POSITIVE if measure == "posts" else SCALE)
            mean = float(values.mean()) if len(values) else np.nan
            row |= {measure: mean, f"{measure}_low": low, f"{measure}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def write(table: pd.DataFrame, tables: Tables, folder: Path, spec: str, data: pd.DataFrame | None = None) -> Path:
    """Write sentiment.md, its tables and its figure; return the path of the page. data: that of `read_data`."""
    rooms = rounds_of_rooms(table, tables)
    points, said = by_round(rooms), table[table["text"].notna()]
    report = Report(folder, "sentiment", "Sentiment of posts by round")
    report.data(sentiment=points)
    report.add(HOW.format(spec, count_phrase(len(said), "post")))
    report.disclaim(tables.header)
    unread = said.loc[said["sentiment"].isna(), "reason"]
    report.missing(len(unread), len(said), "posts have no score", count_table(unread))
    name = f"{tables.header.scenario['name']} on {disclaimers.model_label(tables.header)}"
    report.figure(draw_curves(points, name, data), "sentiment", "Sentiment and number of posts by round")
    several = points[["topic", "group"]].drop_duplicates().shape[0] > 1
    keys: dict[str, Column] = {"topic": "topic", "group": "group"} if several else {}
    report.table(points, {**keys, **COLUMNS})
    if data is not None:
        compared = compare_with_data(rooms, data)
        report.data(compared=compared)
        report.section("Compared with the data", OVER, "\n".join(f"- {line}" for line in sentences(compared)))
        report.table(compared, COMPARED)
    return report.write()


def draw_curves(points: pd.DataFrame, caption: str, data: pd.DataFrame | None = None) -> Figure:
    """Draw sentiment above the number of posts, a line per topic and group; data as one line more, its posts on the same sum."""
    with new_figure(4.6, 4.4, f"{caption}. {rooms_phrase(points['rooms'])}") as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1])
        for number, (keys, line) in enumerate(points.groupby(["topic", "group"], sort=False)):
            label = ", ".join(map(str, keys)) if points[["topic", "group"]].drop_duplicates().shape[0] > 1 else "run"
            for axis, measure in ((above, "sentiment"), (below, "posts")):
                plot_line(axis, line, "round", measure, label, OTHERS[number % len(OTHERS)])
        if data is not None:
            _draw_data(above, below, data, points)
        above.set(ylim=(-0.3, 10.3), ylabel="Sentiment (0–10)")
        below.set(ylim=(0, None), ylabel="Posts in a room", xlabel="Round")
        for axis in (above, below):
            axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(figure, [above], 3)
    return figure


def _draw_data(above: Axes, below: Axes, data: pd.DataFrame, points: pd.DataFrame) -> None:
    look: Any = {"color": DATA["color"], "marker": DATA["markers"], "markersize": 3, "linewidth": 1.0, "linestyle": ":"}
    above.plot(data["round"], data["sentiment"], label="data", **look)
    shared = data["round"].isin(points["round"])
    if data["posts"].notna().any() and (total := data.loc[shared, "posts"].sum()) > 0:
        mean = points.groupby("round")["posts"].mean()
        scale = mean[mean.index.isin(data["round"])].sum() / total
        below.plot(data["round"], data["posts"] * scale, label="data", **look)
