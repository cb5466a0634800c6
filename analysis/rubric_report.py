"""What a judge says of statements by a rubric, by party and by round.

A rubric with aspects has a separate question for each, so a statement may have several tags. The unit of a party's mean is the
repetition of a group, because the same people meet on every topic of it; that of a round is the room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.scales import LABELLED
from parley.analysis import disclaimers
from parley.analysis.curve_comparison import add_comparison
from parley.analysis.figure_text import rooms_phrase
from parley.analysis.figures import OTHERS, add_legend, dot_plot, new_figure, plot_line
from parley.analysis.formatting import Column, count_phrase, count_table, estimate
from parley.analysis.judging import Rubric
from parley.analysis.line_gaps import UNIT
from parley.analysis.reader_moves import add_moves
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import POSITIVE, Ends, mean_interval, with_interval
from parley.analysis.studies.paired_conditions import mean_row, unit_means
from parley.analysis.tables import Tables
from parley.model.titles import seat_title

LINE = ["topic", "group"]
HOW = (
    "{} read {} by the rubric {}: {}. Brackets hold 95% intervals over repetitions, because the same people meet on every topic "
    "of a repetition."
)
ROUNDS = (
    "Statements of a room in a round are averaged first; numbers are means over rooms, with 95% intervals over rooms. "
    "Rooms without a statement in a round count as 0 statements, and have no score in that round. A figure of several "
    "scores averages topics and groups within repetitions first."
)
PARTIES: Mapping[str, Column] = {
    "party": "party", "score": "score", "statements": "statements", "missing": "missing", "rooms": "rooms",
    "mean": estimate("mean"),
}  # fmt: skip
DATA: dict[str, Any] = {"color": "#222222", "marker": "o", "markersize": 3, "linewidth": 1.0, "linestyle": ":"}
"""The look of the user's data."""


def by_party(verdicts: pd.DataFrame, scores: Sequence[str], bounds: Ends) -> pd.DataFrame:
    """Return one row per party and score: party, score, statements (with a number), missing, rooms, mean and its interval.

    The mean is that over units of the means of their rooms. verdicts: those of `judge_by_rubric`. bounds: of the scores.
    """
    rows = []
    for party, party_verdicts in verdicts.groupby("party", sort=False):
        for score in scores:
            rooms = party_verdicts.groupby([*UNIT, "room"])[score].mean().dropna()
            scored = int(party_verdicts[score].notna().sum())
            counts = {"statements": scored, "missing": len(party_verdicts) - scored, "rooms": len(rooms)}
            means = mean_row(unit_means(rooms), "mean", "mean_", bounds)
            rows.append({"party": party, "score": score, **counts, **means})
    return pd.DataFrame(rows)


def rounds_of_rooms(verdicts: pd.DataFrame, tables: Tables, scores: Sequence[str]) -> pd.DataFrame:
    """Return one row per room and round: topic, UNIT, room, round, texts, missing (texts without a score), and the mean of each
    score (NaN: none).
    """
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    rounds = pd.DataFrame({"round": range(1, int(tables.header.scenario["rounds"]) + 1)})
    spoken = verdicts[verdicts["text"].notna()]
    spoken = spoken.assign(missing=spoken[list(scores)].isna().any(axis=1)).groupby(["room", "round"])
    counted = spoken[list(scores)].mean().assign(texts=spoken.size(), missing=spoken["missing"].sum()).reset_index()
    every = seats.drop_duplicates("room")[["topic", *UNIT, "room"]].merge(rounds, how="cross")
    filled = every.merge(counted, how="left", on=["room", "round"]).fillna({"texts": 0, "missing": 0})
    return filled.astype({"missing": "int64"})


def by_round(rooms: pd.DataFrame, scores: Sequence[str], bounds: Ends) -> pd.DataFrame:
    """Return one row per topic, group and round: rooms (with a score), missing, texts and each score with their intervals.

    rooms: that of `rounds_of_rooms`.
    """
    rows = []
    for keys, round_rows in rooms.groupby([*LINE, "round"], sort=False):
        row: dict[str, Any] = dict(zip((*LINE, "round"), keys, strict=True))
        row |= {"rooms": int(round_rows[scores[0]].notna().sum()), "missing": int(round_rows["missing"].sum())}
        for name in ("texts", *scores):
            values = round_rows[name].dropna().to_numpy(dtype=float)
            ends = mean_interval(values, bounds=POSITIVE if name == "texts" else bounds)
            row |= with_interval(name, float(values.mean()) if len(values) else np.nan, ends)
        rows.append(row)
    return pd.DataFrame(rows)


def write_rubric(
    rubric: Rubric, verdicts: pd.DataFrame, tables: Tables, folder: Path, spec: str, data: pd.DataFrame | None = None
) -> Path:
    """Write the page of a rubric, its tables (parties, rounds) and figures; return the path. data: that of `read_data`."""
    scores, bounds, spoken = rubric.columns, rubric.bounds, verdicts[verdicts["text"].notna()]
    parties, rooms = by_party(spoken, scores, bounds), rounds_of_rooms(verdicts, tables, scores)
    points, label = by_round(rooms, scores, bounds), disclaimers.model_label(tables.header)
    report = Report(folder, rubric.name, f"Statements by the rubric {rubric.name}")
    report.data(parties=parties, rounds=points)
    report.add(HOW.format(spec, count_phrase(len(spoken), "statement"), rubric.name, _answers(rubric)))
    report.disclaim(tables.header)
    lost = spoken.loc[spoken[list(scores)].isna().any(axis=1), "reasons"]
    reasons = count_table(reason for noted in lost for reason in str(noted).split(", ") if reason)
    report.missing(len(lost), len(spoken), "statements lack a score", reasons)
    report.lines(f"- **{name}**: {about}" for name, about in rubric.aspects.items())
    report.section("By party")
    shown = parties.assign(party=[seat_title(party, tables.names) for party in parties["party"]])
    drawn = dot_plot(shown, ["party", "score"], "mean", f"mean ({_span(bounds)})", label, "Scores by party")
    report.figure(drawn, rubric.name, "Scores by party")
    report.table(shown, PARTIES)
    report.section("By round", ROUNDS)
    if points["round"].nunique() > 1:  # of one round, the table says the same
        shown = points if len(scores) == 1 else by_round(_pooled(rooms, scores), scores, bounds)
        report.figure(draw_rounds(shown, rubric, label, data), "rounds", "Scores and number of statements by round")
    lines: dict[str, Column] = {name: name for name in LINE} if points[LINE].drop_duplicates().shape[0] > 1 else {}
    columns: dict[str, Column] = {"round": "round", "rooms": "rooms", "statements in a room": estimate("texts")}
    report.table(points, {**lines, **columns, "missing": "missing", **{name: estimate(name) for name in scores}})
    if bounds == (0, 1):
        add_moves(report, verdicts, tables, scores)
    if data is not None:
        add_comparison(report, rooms, data)
    return report.write()


def _pooled(rooms: pd.DataFrame, scores: Sequence[str]) -> pd.DataFrame:
    """Return the rows of `rounds_of_rooms` averaged over topics and groups: the same people meet on every topic, as one unit."""
    means = rooms.groupby(["repetition", "round"])[["texts", "missing", *scores]].mean()
    return means.reset_index().assign(**dict.fromkeys(LINE, "all"))


def _answers(rubric: Rubric) -> str:
    """Return what the numbers mean: 0 means very negative and 10 means very positive."""
    if rubric.scale.kind != LABELLED:
        return rubric.scale.anchors
    return ", ".join(f"{word} counts {point}" for point, word in enumerate(rubric.scale.answers))


def _span(bounds: Ends) -> str:
    return f"{bounds[0]:g}–{bounds[1]:g}"


def draw_rounds(points: pd.DataFrame, rubric: Rubric, caption: str, data: pd.DataFrame | None = None) -> Figure:
    """Draw scores above the number of statements, a line per score (of one score: per topic and group); data as one line more,
    its posts on the same sum.
    """
    low, high = rubric.bounds
    means = "Means over repetitions; bars are 95% intervals" if rubric.aspects else rooms_phrase(points["rooms"])
    with new_figure(4.6, 4.4, f"{caption}. {means}") as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1])
        lines = list(points.groupby(LINE, sort=False))
        looks = iter(OTHERS * (1 + len(lines) * len(rubric.columns) // len(OTHERS)))
        for keys, line in lines:
            named = list(map(str, keys)) if len(lines) > 1 else []
            for name in rubric.columns:
                plot_line(above, line, "round", name, ", ".join([*named, name]), look := next(looks))
            plot_line(below, line, "round", "texts", ", ".join(named), look)
        if data is not None:
            _draw_data(above, below, data, points)
        above.set(
            ylim=(low - 0.03 * (high - low), high + 0.03 * (high - low)), ylabel=f"Score ({_span(rubric.bounds)})"
        )
        below.set(ylim=(0, None), ylabel="Statements in a room", xlabel="Round")
        below.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axis in (above, below):
            axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(figure, [above], 3)
    return figure


def _draw_data(above: Axes, below: Axes, data: pd.DataFrame, points: pd.DataFrame) -> None:
    above.plot(data["round"], data["sentiment"], label="data", **DATA)
    shared = data["round"].isin(points["round"])
    if data["posts"].notna().any() and (total := data.loc[shared, "posts"].sum()) > 0:
        mean = points.groupby("round")["texts"].mean()
        scale = mean[mean.index.isin(data["round"])].sum() / total
        below.plot(data["round"], data["posts"] * scale, label="data", **DATA)
