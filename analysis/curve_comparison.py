"""A curve of sentiment of the user, and how near a run comes to it.

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

from parley.analysis.formatting import Column, estimate, format_number, format_span, number
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats, interval, nanmean
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

ENDS = (0.0, 10.0)
MOST_ROUNDS = 10**6
CHANCE = 0.05
SHIFTS = round(1 / CHANCE)
"""Shifts in time that it takes for a verdict."""
OVER = "Intervals of the comparison are over repetitions, because the same people meet on every topic of a repetition."
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
        raise UserError(f"--data-range is {low:g},{high:g}, but must be LOW,HIGH with LOW below HIGH, such as -1,1")
    columns = {"round": (1.0, MOST_ROUNDS), "sentiment": ends, "posts": (0.0, np.inf)}
    advice = "correct it, leave out the row, or give the scale of sentiment with --data-range"
    table = read_table(path, ("round", "sentiment"), "docs/networks.md", ends=columns, advice=advice)
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
    counted = "texts" if measure == "posts" else measure
    wide = rooms.groupby([*UNIT, "round"])[counted].mean().unstack("round").dropna(axis=1, how="all")
    target_by_round = data.set_index("round")[measure].dropna()
    shared = [round_ for round_ in wide.columns if round_ in target_by_round.index]
    row: dict[str, Any] = {"measure": measure, "rounds": len(shared), "units": len(wide)}
    keys = ("level", "level_low", "level_high", "r", "r_low", "r_high", "error", "flat", "place")
    if len(shared) < FEWEST:
        return row | dict.fromkeys(keys, np.nan)
    values, target = wide[shared].to_numpy(dtype=float), target_by_round[shared].to_numpy(dtype=float)
    if measure == "posts":
        values, target = values / max(nanmean(values).sum(), 1e-12), target / target.sum()
    curve = nanmean(values)
    level = (np.nan, np.nan, np.nan)
    if measure == "sentiment":
        ends = interval(values, lambda drawn: nanmean(drawn, 1).mean(axis=-1) - target.mean(), None)
        level = (float(curve.mean() - target.mean()), *ends)
    changes = np.diff(target)
    fits = [_correlation(np.diff(curve)[None], np.roll(changes, shift))[0] for shift in range(len(changes))]
    # clipped, because arctanh of 1 is infinite
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
    centred, other = curves - curves.mean(axis=-1, keepdims=True), target - target.mean()
    size = np.sqrt((centred**2).sum(axis=-1) * (other**2).sum())
    return np.where(size > 1e-9, (centred * other).sum(axis=-1) / np.where(size > 1e-9, size, 1.0), np.nan)


def sentences(compared: pd.DataFrame) -> list[str]:
    """Return what the comparison says; no verdict without an interval, and none where a shift in time fits as well."""
    return [_sentence(row) for row in compared.to_dict("records")]


def _sentence(row: Mapping[str, Any]) -> str:
    what = {"sentiment": "sentiment", "posts": "the number of posts"}[row["measure"]]
    rounds = row["rounds"]
    if np.isnan(row["r_low"]):
        needs = f"{FEWEST} rounds, {FEWEST} repetitions, and curves that vary"
        return f"It is unknown whether {what} follows the data, because the comparison needs {needs}."
    span = format_span(row["r_low"], row["r_high"])
    evidence = f"correlation {format_number(row['r'])} over {rounds} rounds, {span} over repetitions"
    if row["r_low"] <= 0:
        return f"That {what} follows the data cannot be distinguished from chance ({evidence})."
    shifts = rounds - 1
    chance = row["place"] / shifts
    better = (
        "closer to the data than a flat line is"
        if row["error"] < row["flat"]
        else "not closer to the data than a flat line"
    )
    if chance <= CHANCE:
        return (
            f"The curve of {what} follows the data ({evidence}); the curve is {better}. If the data are "
            "shifted in time, no shift fits as well."
        )
    return (
        f"The curve of {what} resembles the data ({evidence}) and is {better}, but unrelated curves would fit as well "
        f"with a probability of {chance:.2f}: of {shifts} shifts in time of the data's changes from round to round, "
        f"the true one is in place {row['place']:.0f}. A verdict takes {SHIFTS + 1} rounds."
    )


def add_comparison(report: Report, rooms: pd.DataFrame, data: pd.DataFrame) -> None:
    """Add how the run fits the data of the user, with the table compared. rooms: that of `rounds_of_rooms`."""
    compared = compare_with_data(rooms, data)
    report.data(compared=compared)
    report.section("Compared with the data", OVER, "\n".join(f"- {line}" for line in sentences(compared)))
    report.table(compared, COMPARED)
