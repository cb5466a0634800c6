"""How far public lines are from what their speakers rate in private, on the same axis (0-10).

A line has a grade; its speaker was rated before and after its round. The rating at the line lies between the two, by the share of
the round's lines that the speaker had heard by then (in a network, where lines of a round are written at once, it is the one
before). The gap is grade minus rating. `toward` is the gap in the direction of the audience, the mean rating of the others before
the round. The direction comes from ratings of the speaker in other surveys, at least 1 point from the audience: a rating that is
too high by chance would else make its gap and its direction agree. Lines before the first line heard have no direction.

A grader errs. Lines of known grade give its mean score for each grade (a straight line); `floor` is what the gap would be if
the line said the rating itself. The unit is the repetition of a group: the same people talk about all of its topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.statistics.intervals import FEWEST, SCALE, Ends, Floats, is_even, mean_interval, with_interval
from parley.analysis.tables import Tables
from parley.environments.base import MEDIATOR
from parley.llm.seeding import derive
from parley.model.events.texts import RETELLING

KEYS = ["topic", "group", "repetition", "room", "party", "agent", "round", "iteration"]
UNIT = ["group", "repetition"]
"""The same people talk about all topics of a repetition, so their rooms are one unit."""
LEAST = 1.0
"""Points between the speaker and its audience below which a line has no direction."""
DEALS = 199
NO_TEXT, NO_GRADE, NO_RATING = "no text", "no grade", "no rating before or after"
NOT_HEARD, NO_AUDIENCE, NO_THIRD, NEAR = "nothing heard yet", "audience not rated", "no third survey", "audience near"
Z = 1.96


@dataclass(frozen=True)
class Calibration:
    """The mean score of a grader for lines of a known grade: intercept + slope * grade (both 0-10).

    error: mean distance of score and grade. covariance: (2, 2) of intercept and slope. cases: lines that could be graded.
    """

    intercept: float = 0.0
    slope: float = 1.0
    error: float = 0.0
    covariance: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    cases: int = 0


EXACT = Calibration()
"""A grader that makes no error."""
UNKNOWN = Calibration(np.nan, np.nan, np.nan)


class AboveFloor(NamedTuple):
    """The mean of `toward` minus `floor` over units, and its 95% interval with the error of the floor."""

    value: float
    ends: Ends


def calibrate(grades: Floats, scores: Floats) -> Calibration:
    """Return the calibration of a grader from known grades and its scores (NaN: unread); UNKNOWN below FEWEST or on one grade.

    >>> found = calibrate(np.array([0.0, 2.0, 4.0, 6.0, 8.0, 10.0]), np.array([2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    >>> round(found.intercept, 6), round(found.slope, 6), found.error, found.cases
    (2.0, 0.5, 1.5, 6)
    """
    is_complete = np.isfinite(scores) & np.isfinite(grades)
    x, y = grades[is_complete], scores[is_complete]
    if len(x) < FEWEST or np.ptp(x) == 0:
        return UNKNOWN
    design = np.column_stack([np.ones(len(x)), x])
    inverse = np.linalg.inv(design.T @ design)
    intercept, slope = inverse @ design.T @ y
    residual = y - design @ np.array([intercept, slope])
    covariance = inverse * float(residual @ residual) / (len(x) - 2)
    (top_left, top_right), (low_left, low_right) = covariance.tolist()
    cells = (top_left, top_right), (low_left, low_right)
    return Calibration(float(intercept), float(slope), float(np.abs(y - x).mean()), cells, len(x))


def line_gaps(
    tables: Tables, grades: pd.DataFrame, graders: Mapping[str, Calibration] | None = None, grader: Calibration = EXACT
) -> pd.DataFrame:
    """Return one row per turn of a debating agent: KEYS, grade, own, audience, direction (1, -1, NaN), gap, toward, floor,
    missing (why there is no gap; "": there is one), undirected (why there is no direction).

    grades: room, iteration, grade (0-10). graders: the calibration by topic; for any other topic it is `grader`.
    """
    turns = tables.utterances
    debating = (turns["group"] != REFERENCE) & (turns["agent"] != MEDIATOR) & (turns["form"] != RETELLING)
    lines = turns.loc[debating, [*KEYS, "text"]]
    lines = lines.iloc[np.lexsort((lines["iteration"], pd.factorize(lines["room"])[0]))]
    lines = lines.merge(grades, how="left", on=["room", "iteration"]).astype({"grade": "float64"})
    lines["spoken"] = lines.pop("text").notna()
    ratings = tables.attitudes
    ratings = ratings.loc[ratings["probe"] == tables.header.scenario["probe"], ["room", "agent", "round", "attitude"]]
    _add_own(lines, ratings, tables.heard)
    _add_direction(lines, ratings, tables.heard)
    lines["gap"] = lines["grade"] - lines["own"]
    lines["toward"] = lines["direction"] * lines["gap"]
    named = [(graders or {}).get(topic, grader) for topic in lines["topic"]]
    expected = (
        np.array([calibration.intercept for calibration in named])
        + np.array([calibration.slope for calibration in named]) * lines["own"]
    )
    lines["floor"] = lines["direction"] * (expected - lines["own"])
    missing = [~lines["spoken"], lines["grade"].isna(), lines["own"].isna()]
    lines["missing"] = np.select(missing, [NO_TEXT, NO_GRADE, NO_RATING], "")
    return lines.drop(columns="spoken")


def _add_own(lines: pd.DataFrame, ratings: pd.DataFrame, heard: pd.DataFrame) -> None:
    """Add own (the rating at the line), third (the mean of its other ratings) and before (whether it had heard a line)."""
    rated = ratings.set_index(["room", "agent", "round"])["attitude"]
    first, last = (_at(rated, lines, lines["round"] + shift) for shift in (-1, 0))
    every = ratings.groupby(["room", "agent"])["attitude"].agg(["sum", "count"])
    places = pd.MultiIndex.from_frame(lines[["room", "agent"]])
    total, count = (every[name].reindex(places).to_numpy(dtype=float) for name in ("sum", "count"))
    ends = np.column_stack([first, last])
    count = count - np.isfinite(ends).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        lines["third"] = np.where(count > 0, (total - np.nansum(ends, axis=1)) / count, np.nan)
    now, since = _heard_lines(lines, ["room", "round"]), _heard_lines(lines, ["room"])
    share, before = now["before"] / now["all"].where(now["all"] > 0), since["before"] > 0
    if len(heard):  # a network: the lines of a round are written at once, and only some are heard
        start = heard.groupby(["room", "agent"])["round"].min().reindex(places).to_numpy(dtype=float)
        share, before = share * 0, pd.Series(start < lines["round"].to_numpy(), lines.index)
    lines["own"] = first + share.fillna(0.0).to_numpy(dtype=float) * (last - first)
    lines["before"] = before


def _at(rated: pd.Series, lines: pd.DataFrame, rounds: pd.Series) -> Floats:
    """Return the ratings of the speakers of lines after some rounds (0: before the debate)."""
    places = pd.MultiIndex.from_arrays([lines["room"], lines["agent"], rounds])
    values: Floats = rated.reindex(places).to_numpy(dtype=float)
    return values


def _heard_lines(lines: pd.DataFrame, scope: list[str]) -> pd.DataFrame:
    """Return, by line, the lines of others in the same scope (a room, a round of it): those before it, and all."""
    spoken, agent_keys = lines["spoken"].astype(int), [*scope, "agent"]
    counts = [spoken.groupby([lines[key] for key in keys]) for keys in (scope, agent_keys)]
    before = [count.cumsum() - spoken for count in counts]
    total = [count.transform("sum") for count in counts]
    return pd.DataFrame({"before": before[0] - before[1], "all": total[0] - total[1]})


def _add_direction(lines: pd.DataFrame, ratings: pd.DataFrame, heard: pd.DataFrame) -> None:
    """Add audience, direction and undirected, in place of third and before."""
    rated = ratings.dropna(subset="attitude").assign(round=lambda table: table["round"] + 1)
    if len(heard):
        listeners = heard[["room", "round", "iteration", "agent"]].merge(rated, on=["room", "round", "agent"])
        means = listeners.groupby(["room", "iteration"])["attitude"].mean()
        audience = means.reindex(pd.MultiIndex.from_frame(lines[["room", "iteration"]])).to_numpy(dtype=float)
    else:
        sums = rated.groupby(["room", "round"])["attitude"].agg(["sum", "count"])
        sums = sums.reindex(pd.MultiIndex.from_frame(lines[["room", "round"]])).reset_index(drop=True)
        own_rating = _at(rated.set_index(["room", "agent", "round"])["attitude"], lines, lines["round"])
        others = sums["count"].to_numpy(dtype=float) - np.isfinite(own_rating)
        with np.errstate(invalid="ignore", divide="ignore"):
            audience = np.where(
                others > 0, (sums["sum"].to_numpy(dtype=float) - np.nan_to_num(own_rating)) / others, np.nan
            )
    lines["audience"] = audience
    apart = lines["audience"] - lines.pop("third")
    reasons = [~lines.pop("before"), lines["audience"].isna(), apart.isna(), apart.abs() < LEAST]
    lines["undirected"] = np.select(reasons, [NOT_HEARD, NO_AUDIENCE, NO_THIRD, NEAR], "")
    lines["direction"] = np.sign(apart).where(lines["undirected"] == "")


def room_gaps(lines: pd.DataFrame) -> pd.DataFrame:
    """Return one row per room: topic, group, repetition, room, lines (with a gap), missing, directed (lines), and the means
    toward, floor and absolute.
    """
    grouped = lines.assign(absolute=lines["gap"].abs(), unread=lines["missing"] != "").groupby("room", sort=False)
    directed_rooms = lines[lines["toward"].notna()].groupby("room", sort=False)
    gaps = grouped[["topic", "group", "repetition"]].first()
    gaps["lines"], gaps["missing"] = grouped["gap"].count(), grouped["unread"].sum()
    gaps["directed"] = directed_rooms.size().reindex(gaps.index, fill_value=0)
    for name in ("toward", "floor"):
        gaps[name] = directed_rooms[name].mean()
    gaps["absolute"] = grouped["absolute"].mean()
    return gaps.reset_index()


def above_floor(lines: pd.DataFrame, graders: Mapping[str, Calibration] | None = None) -> AboveFloor:
    """Return how far lines go toward the audience beyond the grader's floor: mean over UNITs, and the interval.

    The interval has the error of the calibration too: it is wider by the root of the sum of squares.
    """
    directed = lines[lines["toward"].notna() & lines["floor"].notna()]
    units = directed.groupby(UNIT, sort=False)
    values = (units["toward"].mean() - units["floor"].mean()).to_numpy(dtype=float)
    if not len(values):
        return AboveFloor(np.nan, (np.nan, np.nan))
    low, high = mean_interval(values)
    variance = 0.0
    shares = directed.assign(level=directed["direction"] * directed["own"], weight=1 / units["gap"].transform("size"))
    for topic, topic_lines in shares.groupby("topic", sort=False):
        covariance = np.array((graders or {}).get(str(topic), EXACT).covariance)
        weights = topic_lines["weight"].to_numpy(dtype=float) / len(values)
        vector = np.array(
            [weights @ topic_lines["direction"].to_numpy(float), weights @ topic_lines["level"].to_numpy(float)]
        )
        variance += float(vector @ covariance @ vector)
    reach = float(np.hypot((high - low) / 2, Z * np.sqrt(variance)))
    return AboveFloor(float(values.mean()), (float(values.mean()) - reach, float(values.mean()) + reach))


def gap_row(lines: pd.DataFrame, graders: Mapping[str, Calibration] | None = None) -> dict[str, float]:
    """Return the gaps of some lines as columns of a row: rooms (with a direction), lines, missing, directed; the means toward,
    absolute and above (the floor) over UNITs with 95% intervals; floor; swapped with the middle 95% of deals.
    """
    by_room = room_gaps(lines)
    row: dict[str, float] = {name: int(by_room[name].sum()) for name in ("lines", "missing", "directed")}
    row["rooms"] = int(by_room["toward"].notna().sum())
    means = by_room.groupby(UNIT)[["toward", "absolute", "floor"]].mean()
    for name, bounds in (("toward", None), ("absolute", SCALE)):
        unit_means = means[name].dropna().to_numpy(dtype=float)
        row |= with_interval(
            name, float(unit_means.mean()) if len(unit_means) else np.nan, mean_interval(unit_means, bounds=bounds)
        )
    row["floor"] = float(means["floor"].mean())
    above, dealt = above_floor(lines, graders), swapped(lines)
    ends = (np.nan, np.nan) if is_even(dealt) else tuple(np.quantile(dealt, [0.025, 0.975]).tolist())
    mean = float(dealt.mean()) if len(dealt) else np.nan
    return row | with_interval("above", above.value, above.ends) | with_interval("swapped", mean, (ends[0], ends[1]))


def swapped(lines: pd.DataFrame, deals: int = DEALS) -> Floats:
    """Return the mean of `toward` over rooms for each deal of the gaps among lines of one topic and rating (whole points).

    If what is said depends on the rating alone, the true mean is among the deals. Where all who rate alike face an audience on
    the same side, a deal changes no direction, and the deals equal the true mean.
    """
    directed = lines[lines["toward"].notna()].reset_index(drop=True)
    rng, gaps = np.random.default_rng(derive(0, "swapped lines")), directed["gap"].to_numpy(dtype=float)
    cells = [np.asarray(places) for places in directed.groupby(["topic", directed["own"].round()]).indices.values()]
    weights = directed["direction"].to_numpy(dtype=float) / directed.groupby("room")["gap"].transform("size").to_numpy(
        dtype=float
    )
    dealt = np.tile(gaps, (deals if len(directed) else 0, 1))
    for places in cells:
        dealt[:, places] = rng.permuted(dealt[:, places], axis=1)
    means: Floats = dealt @ weights / max(directed["room"].nunique(), 1)
    return means
