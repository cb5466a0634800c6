"""How far opinions moved in several runs: means, and the difference of each run from the first one, with its interval.

The number of a room is how far the mean of a party's agents moved since the survey before the debate. Two runs with the same
seed and the same people in each room are compared within rooms, by Student's t. Other runs are compared between rooms, by
Welch's t. Holm's correction covers the last common round of all topics, groups, parties and runs of the comparison. Movements are
of agents that are rated at both surveys; how many ratings each run lacks is compared too, and where a row lacks more than 5% of
its agents it has bounds: the lowest and the highest difference that any values of the missing ratings could give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics import drift
from parley.analysis.metrics.drift import AXIS
from parley.analysis.rating_value import RATING
from parley.analysis.scores.table import MANY
from parley.analysis.statistics.groups import Result, compare_paired, compare_two, holm
from parley.analysis.statistics.intervals import ALIKE, SCALE, SIGNED, mean_interval
from parley.analysis.statistics.power import p_alike
from parley.analysis.studies.paired_conditions import units_of
from parley.analysis.tables import Tables

PLACE = ["topic", "group", "party"]
KEYS = (*PLACE, "round")
SEAT = ["room", "seat"]
PAIRED, UNPAIRED = "paired", "unpaired"
COLUMNS = [
    "run", *KEYS, "mean", "se", "low", "high", "n", "moved", "moved_first",
    "difference", "difference_low", "difference_high", "bound_low", "bound_high", "rooms", "how", "df", "p", "p_holm",
    "agents", "missing", "reason",
]  # fmt: skip


@dataclass(frozen=True)
class Pairing:
    """Whether the rooms of two runs are pairs, and why (not)."""

    how: str
    reason: str


def mean_attitudes(tables: Tables) -> pd.DataFrame:
    """Return the mean attitude of each party by round, over means of rooms: topic, group, party, round, mean, se, n (rooms), and
    low, high (the 95% interval over rooms; NaN with fewer than five).
    """
    rated = _rated(tables)
    rooms = rated.groupby([*KEYS, "room"], sort=False)["attitude"].mean().dropna().groupby(list(KEYS), sort=False)
    means = rooms.agg(mean="mean", se="sem", n="count")
    ends = [mean_interval(values.to_numpy(dtype=float), bounds=SCALE) for _, values in rooms]
    means[["low", "high"]] = np.array(ends, dtype=float).reshape(-1, 2)
    return means.reset_index()


def shared_seats(first: Tables, other: Tables) -> list[tuple[str, str]]:
    """Return the topics and groups that both runs have."""
    mine, theirs = (dict.fromkeys(zip(run.agents["topic"], run.agents["group"], strict=True)) for run in (first, other))
    return [(topic, group) for topic, group in mine if (topic, group) in theirs and group in first.groups]


def pairing(first: Tables, other: Tables) -> Pairing:
    """Return whether rooms of the same name have the same people and the same seed, and so are pairs."""
    if first.header.scenario["seed"] != other.header.scenario["seed"]:
        return Pairing(UNPAIRED, "the seeds differ")
    mine, theirs = (run.agents[run.agents["group"].isin(run.groups)] for run in (first, other))
    both = mine.merge(theirs, on=SEAT)
    if both.empty:
        return Pairing(UNPAIRED, "the two runs have no room in common")
    rooms = set(both["room"])
    same = all(len(run[run["room"].isin(rooms)]) == len(both) for run in (mine, theirs))
    if not same or (both["persona_x"] != both["persona_y"]).any():
        return Pairing(UNPAIRED, "different people debate in their rooms")
    return Pairing(PAIRED, "both have the same seed and the same people in each room")


def compare_runs(runs: Mapping[str, Tables], within: float | None = None) -> pd.DataFrame:
    """Return one row per run, topic, group, party and round; columns: COLUMNS.

    mean, se, low, high, n: of the attitude (0 to 10) over rooms. moved, moved_first: how far agents moved up the axis since
    the survey before the debate in this run and in the first one, in points, over the rooms of the difference. difference:
    how much further they moved in this run, with its 95% interval (not corrected), over `rooms` pairs (or rooms of both
    runs) and `how`. bound_low, bound_high: between what the difference would be whatever the missing ratings are (where more
    than 5% of the agents are left out). df: degrees of freedom. p_holm: corrected, at the last common round alone. agents: of
    the rooms compared (of unpaired runs, of both); missing: of them left out, because a rating is missing.
    reason: why there is no interval. The first run has no difference. within: a bound in points; `p_alike` is then the p of
    "the difference is at least the bound in size", corrected as p_holm.
    """
    (first, base), *others = runs.items()
    frames = [mean_attitudes(base).assign(run=first)]
    for name, tables in others:
        rows = pd.DataFrame([{**dict(zip(KEYS, keys, strict=True)), **row} for keys, row in _differences(base, tables)])
        means = mean_attitudes(tables).assign(run=name)
        frames.append(means.merge(rows, on=list(KEYS), how="left") if len(rows) else means)
    table = pd.concat(frames, ignore_index=True).reindex(columns=COLUMNS)
    last = _is_last(table)
    table.loc[last, "p_holm"] = holm(table.loc[last, "p"].to_numpy(dtype=float))
    if within is not None:
        ends = table[["difference", "difference_low", "difference_high", "df"]].astype(float)
        p_values = pd.Series(
            [p_alike(by, low, high, df, within) for by, low, high, df in ends.to_numpy(dtype=float).tolist()],
            index=table.index,
        )
        table.insert(COLUMNS.index("p_holm") + 1, "p_alike", p_values.where(last))
        table.loc[last, "p_alike"] = holm(p_values[last].to_numpy(dtype=float))
    return table


def common_sides(first: Tables, other: Tables) -> dict[tuple[str, str, str], int]:
    """Return on which side of a party the model's own opinion is, by topic, group and party: 1 above, -1 below. Parties are left
    out whose side is not known, or not the same in both runs.
    """
    sides = []
    for tables in (first, other):
        known = drift.compute(tables).dropna(subset="drift")
        above = np.where(known["default"] > known["start"], 1, -1)
        sides.append(dict(zip(known[PLACE].itertuples(index=False, name=None), above.tolist(), strict=True)))
    return {place: side for place, side in sides[0].items() if sides[1].get(place) == side}


def overall(first: Tables, other: Tables, sides: Mapping[tuple[str, str, str], int]) -> dict[str, Any] | None:
    """Return how far agents moved toward the model's own opinion in both runs, and the difference over repetitions: the columns
    of a row of `compare_runs` from `moved` on. Topics, groups and parties weigh the same. None without a party with a side.
    """
    frames = _movements(first, other)
    ends = [frame.groupby(["topic", "group"])["round"].max() for frame in frames]
    last = ends[0].combine(ends[1], min).dropna()
    units = [_toward(tables, frame, sides, last) for tables, frame in zip((first, other), frames, strict=True)]
    if not len(units[0]) or not len(units[1]):
        return None
    how = pairing(first, other).how
    if how == PAIRED:
        both = pd.concat(units, axis=1, join="inner").dropna().to_numpy(dtype=float)
        return _row(
            compare_paired("all", both[:, 1] - both[:, 0], "repetition"), (both[:, 1].mean(), both[:, 0].mean()), how
        )
    mine, theirs = (unit.to_numpy(dtype=float) for unit in units)
    return _row(compare_two("all", mine, theirs, "repetition"), (theirs.mean(), mine.mean()), how)


def _toward(
    tables: Tables, moved: pd.DataFrame, sides: Mapping[tuple[str, str, str], int], last: pd.Series
) -> pd.Series:
    """Return the movement toward the model's own opinion by repetition, after the last round that both runs have."""
    side = pd.Series(
        [sides.get(place, np.nan) for place in moved[PLACE].itertuples(index=False, name=None)], moved.index
    )
    at = last.reindex(pd.MultiIndex.from_frame(moved[["topic", "group"]])).to_numpy()
    rows = moved.assign(toward=side * moved["moved"])[(moved["round"] == at).to_numpy()].dropna(subset="toward")
    units = units_of(tables)
    rows = rows.join(units.rename(columns=lambda name: f"unit {name}"), on="room")
    names = [f"unit {name}" for name in units]
    cells = rows.groupby([*names, *PLACE], sort=False)["toward"].mean()
    return cells.groupby(level=names, sort=False).mean()


def last_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a comparison at the last round that a run has in common with the first one."""
    return table[_is_last(table)]


def _is_last(table: pd.DataFrame) -> pd.Series:
    compared_round = table["round"].where(table["how"].notna() & (table["round"] > 0))
    return compared_round.notna() & (
        compared_round == compared_round.groupby([table["run"], table["topic"], table["group"]]).transform("max")
    )


def missing_ratings(runs: Mapping[str, Tables]) -> pd.DataFrame:
    """Return a row per run: run, ratings, missing, share (of ratings after round 0), and against the first run `difference` (of
    the shares) with its interval and p over repetitions (rooms, where the runs are not pairs), how many these are (`rooms`);
    reason: why there is no interval.
    """
    (_, base), *_ = runs.items()
    rows = []
    for name, tables in runs.items():
        rated = _rated(tables)
        lost = rated.loc[rated["round"] > 0, "attitude"].isna()
        row = {"run": name, "ratings": len(lost), "missing": int(lost.sum()), "share": float(lost.mean())}
        rows.append(row if tables is base else row | _difference_in_missing(base, tables))
    difference = ["difference", "difference_low", "difference_high", "p", "rooms", "reason"]
    columns = ["run", "ratings", "missing", "share", *difference]
    return pd.DataFrame(rows, columns=columns).astype({"rooms": "Int64"})


def _difference_in_missing(first: Tables, other: Tables) -> dict[str, Any]:
    """Return the difference in the share of missing ratings of the topics and groups that both runs have."""
    seats, how = shared_seats(first, other), pairing(first, other).how
    mine, theirs = (_missing_by_unit(tables, seats, how) for tables in (first, other))
    if how == PAIRED:
        result = compare_paired("missing", (theirs - mine).to_numpy(dtype=float), "repetition")
    else:
        result = compare_two("missing", mine.to_numpy(dtype=float), theirs.to_numpy(dtype=float), "room")
    ends = np.clip([result.low, result.high], *SIGNED).tolist()  # no share differs by more than all of it
    row = _row(replace(result, low=ends[0], high=ends[1]), (np.nan, np.nan), how)
    return {name: row[name] for name in ("difference", "difference_low", "difference_high", "p", "rooms", "reason")}


def _missing_by_unit(tables: Tables, seats: list[tuple[str, str]], how: str) -> pd.Series:
    rated = _rated(tables)
    shared = [pair in seats for pair in zip(rated["topic"], rated["group"], strict=True)]
    kept = rated[(rated["round"] > 0) & np.array(shared, dtype=bool)]
    lost = kept["attitude"].isna().groupby(kept["room"]).mean()
    units = units_of(tables).loc[lost.index]
    return lost.groupby([units[name] for name in units]).mean() if how == PAIRED else lost


def _differences(first: Tables, other: Tables) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield by topic, group, party and round the difference of the other run from the first."""
    how, mine, theirs = pairing(first, other).how, *_movements(first, other)
    if how == PAIRED:
        both = mine.merge(theirs, on=[*KEYS, *SEAT], suffixes=("", " other"))
        both["by"] = both["moved other"] - both["moved"]
        both["lowest by"] = both["lowest other"] - both["highest"]
        both["highest by"] = both["highest other"] - both["lowest"]
        for keys, cell in both.groupby(list(KEYS), sort=False):
            complete = cell.dropna(subset=["by"]).groupby("room", sort=False)[["moved", "moved other", "by"]].mean()
            rooms = complete["by"].to_numpy(dtype=float)
            result = compare_paired(str(keys), np.where(np.abs(rooms) < ALIKE, 0.0, rooms), "room")
            moved = complete["moved other"].mean(), complete["moved"].mean()
            ends = [_room_mean(cell, f"{end} by") for end in ("lowest", "highest")]
            yield keys, _row(result, moved, how) | _left_out(cell["by"], *ends)
        return
    cells = [dict(iter(frame.groupby(list(KEYS), sort=False))) for frame in (mine, theirs)]
    for keys in [keys for keys in cells[0] if keys in cells[1]]:
        here = [frames[keys] for frames in cells]
        rooms = [cell.groupby("room", sort=False)["moved"].mean().dropna().to_numpy(dtype=float) for cell in here]
        result = compare_two(str(keys), rooms[0], rooms[1], "room")
        moved = (
            float(np.mean(rooms[1])) if len(rooms[1]) else np.nan,
            float(np.mean(rooms[0])) if len(rooms[0]) else np.nan,
        )
        (least, most), (other_least, other_most) = (
            [_room_mean(cell, end) for end in ("lowest", "highest")] for cell in here
        )
        every = pd.concat([cell["moved"] for cell in here])
        yield keys, _row(result, moved, how) | _left_out(every, other_least - most, other_most - least)


def _room_mean(cell: pd.DataFrame, column: str) -> float:
    return float(cell.groupby("room", sort=False)[column].mean().mean())


def _left_out(moved: pd.Series, low: float, high: float) -> dict[str, Any]:
    """Return agents, missing, and the bounds of the difference where many are missing."""
    lost = moved.isna()
    ends = {"bound_low": low, "bound_high": high} if lost.mean() > MANY else {}
    return ends | {"agents": len(lost), "missing": int(lost.sum())}


def _row(result: Result, moved: tuple[float, float], how: str) -> dict[str, Any]:
    numbers = asdict(result)
    ends = {"moved": moved[0], "moved_first": moved[1]}
    ends |= {"difference": numbers["estimate"], "difference_low": numbers["low"], "difference_high": numbers["high"]}
    reason = (
        numbers["reason"]
        .replace("units in a condition", f"{result.unit}s")
        .replace("no unit of differences differs", f"no {result.unit} differs")
    )
    return ends | {
        "rooms": numbers["n"],
        "how": how,
        "df": numbers["df_within"],
        "p": numbers["p"],
        "reason": reason or None,
    }


def _movements(*runs: Tables) -> list[pd.DataFrame]:
    """Return for each run a row per agent and round: keys, room, seat, `moved` since before the debate, on the axis, and the
    `lowest` and `highest` that it can be if a missing rating is anywhere on the axis.

    All runs use the same number of a rating: the mean of its distribution where all have it, else the rating.
    """
    valued = [_rated(tables) for tables in runs]
    if any((ratings["measure"] == RATING).any() for ratings in valued):
        valued = [ratings.assign(attitude=ratings["answer"]) for ratings in valued]
    frames = []
    for ratings in valued:
        start = ratings.loc[ratings["round"] == 0, [*SEAT, "attitude"]].rename(columns={"attitude": "start"})
        later = ratings[ratings["round"] > 0].merge(start, on=SEAT, how="left")
        low, high = (later[["attitude", "start"]].fillna(end) for end in AXIS)
        later["moved"] = later["attitude"] - later["start"]
        later["lowest"], later["highest"] = low["attitude"] - high["start"], high["attitude"] - low["start"]
        frames.append(later[[*KEYS, *SEAT, "moved", "lowest", "highest"]])
    return frames


def _rated(tables: Tables) -> pd.DataFrame:
    probe = tables.header.scenario["probe"]
    return tables.attitudes[tables.attitudes["group"].isin(tables.groups) & (tables.attitudes["probe"] == probe)]
