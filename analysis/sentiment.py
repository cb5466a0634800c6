"""How negative or positive the posts of a run are, round by round, by a judge who knows neither author nor round.

Written: sentiment.md with the curve of sentiment and the number of posts by round, and data of the user if there are any.
The unit is the room: posts of a room in a round are averaged first.

A curve of sentiment of the user, and how near a run comes to it.

The file is a table (CSV) with a header. One row is a round, or a post:

    round      the round of the run to which the row belongs, from 1
    sentiment  how negative or positive it is, on the scale of the judge (0-10), or on another one (`ends`)
    posts      number of posts that the row summarises; may be left out (1)

Rows of one round are averaged, each with the weight of its posts.
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
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_number, format_span, number
from parley.analysis.judging import Item, Judge, journaled_verdicts, load_rubric
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import (
    ALIKE,
    FEWEST,
    POSITIVE,
    SCALE,
    Floats,
    interval,
    mean_interval,
    nanmean,
    with_interval,
)
from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar
from parley.llm.errors import UserError

ENDS = (0.0, 10.0)
MOST_ROUNDS = 10**6
CHANCE = 0.05
SHIFTS = round(1 / CHANCE)
"""Shifts in time that it takes for a verdict."""
COMPARED: Mapping[str, Column] = {
    "measure": "measure", "rounds": "rounds", "run minus data": estimate("level"), "correlation": estimate("r"),
    "error of the shape": number("error"), "error of a flat line": number("flat"), "place among shifts": "place",
}  # fmt: skip


def read_data(path: Path, ends: tuple[float, float] = ENDS) -> pd.DataFrame:
    """Return the user's curve: round, sentiment (0-10), posts (NaN if the file has none), in the order of rounds.

    ends: the lowest and the highest value of the file's scale. Errors: UserError for a file that does not fit.
    """
    low, high = ends
    if not low < high:
        raise UserError(f"--data-range must be LOW,HIGH with LOW below HIGH, such as -1,1, not {low:g},{high:g}")
    columns = {"round": (1.0, MOST_ROUNDS), "sentiment": ends, "posts": (0.0, np.inf)}
    advice = "correct it, leave out the row, or give the scale of sentiment with --data-range"
    table = read_table(path, ("round", "sentiment"), "docs/emotions.md", ends=columns, advice=advice)
    has_posts = "posts" in table.columns
    numbers = table.assign(posts=table["posts"] if has_posts else 1.0)[list(columns)]
    if (missing := numbers.isna().any(axis=1)).any():
        raise UserError(f"{path}, row {missing.idxmax()}: a value is empty: enter it, or leave out the row")
    if (wrong := (numbers["round"] % 1 != 0) | (numbers["posts"] <= 0)).any():
        raise UserError(f"{path}, row {wrong.idxmax()}: round must be a whole number, and posts above 0")
    numbers["score"] = 10 * (numbers["sentiment"] - low) / (high - low) * numbers["posts"]
    sums = numbers.groupby("round", as_index=False)[["score", "posts"]].sum()
    curve = pd.DataFrame({"round": sums["round"].astype("int64"), "sentiment": sums["score"] / sums["posts"]})
    return curve.assign(posts=sums["posts"] if has_posts else np.nan)


def compare_with_data(rooms: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure (sentiment; posts, if the data have them): how the mean curve of the run fits the data.

    rooms: that of `rounds_of_rooms`. rounds: those that both have. units: topics and repetitions of the run.
    level: mean of the run minus mean of the data (sentiment
    alone). r: Pearson's, over rounds. error: mean distance of the curves after each lost its own mean; flat: the same for a flat
    line. place: of the true order among all shifts in time of the data's changes from round to round, by their r with the changes
    of the run (1: it fits best, and no shift as well). Curves without a common cause are in place 1 about once in
    (rounds - 1) times. Intervals are over UNITs, each the mean of its rooms: the same people meet on every topic of a repetition.
    Posts are shares of all posts. Values are NaN below FEWEST rounds, and where a curve does not vary.
    """
    rows = [_compare(rooms, data, measure) for measure in ("sentiment", "posts")]
    return pd.DataFrame([row for row in rows if row["measure"] == "sentiment" or data["posts"].notna().all()])


def _compare(rooms: pd.DataFrame, data: pd.DataFrame, measure: str) -> dict[str, Any]:
    wide = rooms.groupby([*UNIT, "round"])[measure].mean().unstack("round").dropna(axis=1, how="all")
    known = data.set_index("round")[measure].dropna()
    shared = [round_ for round_ in wide.columns if round_ in known.index]
    row: dict[str, Any] = {"measure": measure, "rounds": len(shared), "units": len(wide)}
    keys = ("level", "level_low", "level_high", "r", "r_low", "r_high", "error", "flat", "place")
    if len(shared) < FEWEST:
        return row | dict.fromkeys(keys, np.nan)
    values, target = wide[shared].to_numpy(dtype=float), known[shared].to_numpy(dtype=float)
    if measure == "posts":
        values, target = values / max(nanmean(values).sum(), 1e-12), target / target.sum()
    curve = nanmean(values)
    level = (np.nan, np.nan, np.nan)
    if measure == "sentiment":
        ends = interval(values, lambda drawn: nanmean(drawn, 1).mean(axis=-1) - target.mean(), None)
        level = (float(curve.mean() - target.mean()), *ends)
    changes = np.diff(target)
    fits = [_correlation(np.diff(curve)[None], np.roll(changes, shift))[0] for shift in range(len(changes))]
    low, high = interval(
        values, lambda drawn: np.arctanh(np.clip(_correlation(nanmean(drawn, 1), target), -0.9999, 0.9999)), None
    )
    around, flat = curve - curve.mean(), target - target.mean()
    place = np.nan if np.isnan(fits[0]) else 1 + sum(fit > fits[0] - ALIKE for fit in fits[1:])
    errors = float(np.abs(around - flat).mean()), float(np.abs(flat).mean())
    return row | dict(
        zip(
            keys,
            (*level, _correlation(curve[None], target)[0], np.tanh(low), np.tanh(high), *errors, place),
            strict=True,
        )
    )


def _correlation(curves: Floats, target: Floats) -> Floats:
    """Return Pearson's r of each curve, (draws, rounds), with one curve; NaN where one does not vary."""
    one, other = curves - curves.mean(axis=-1, keepdims=True), target - target.mean()
    size = np.sqrt((one**2).sum(axis=-1) * (other**2).sum())
    return np.where(size > 1e-9, (one * other).sum(axis=-1) / np.where(size > 1e-9, size, 1.0), np.nan)


def sentences(compared: pd.DataFrame) -> list[str]:
    """Return what the comparison says; no verdict without an interval, and none where a shift in time fits as well."""
    return [_sentence(row) for row in compared.to_dict("records")]


def _sentence(row: Mapping[str, Any]) -> str:
    what = {"sentiment": "sentiment", "posts": "the number of posts"}[row["measure"]]
    rounds = row["rounds"]
    if np.isnan(row["r_low"]):
        needs = f"{FEWEST} rounds, {FEWEST} repetitions, and curves that vary"
        return f"Whether {what} follows the data is unknown: it takes {needs}."
    span = format_span(row["r_low"], row["r_high"])
    found = f"correlation {format_number(row['r'])} over {rounds} rounds, {span} over repetitions"
    if row["r_low"] <= 0:
        return f"That {what} follows the data cannot be distinguished from chance ({found})."
    shifts = rounds - 1
    chance = row["place"] / shifts
    better = (
        "closer to the data than a flat line is"
        if row["error"] < row["flat"]
        else "no closer to the data than a flat line"
    )
    if chance <= CHANCE:
        return f"The curve of {what} follows the data ({found}); it is {better}. No shift of the data in time fits as well."
    return (
        f"The curve of {what} goes with the data ({found}) and is {better}, but curves that have nothing to do with each other "
        f"would fit so well with a chance of {chance:.2f}: of {shifts} shifts in time of the data's changes from round to round, "
        f"the true one is in place {row['place']:.0f}. A verdict takes {SHIFTS + 1} rounds."
    )


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
            row |= with_interval(measure, mean, (low, high))
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
