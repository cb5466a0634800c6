"""How far each version of a story is from the true report, in six dimensions, by a judge.

Source: FUSE-EVAL (Liu et al. 2024, arXiv 2410.19064). Departures: the questions are ours, the mean of the six has equal
weights, and the judge also reads the unchanged report, which shows what it gives to a text that has not changed at all (its
floor).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.reply_cleaning import one_line
from parley.agents.topic import load_topic
from parley.analysis.event_frames import ROOM
from parley.analysis.judging import Item, Judge, load_rubric
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import SCALE, mean_interval, p_of_mean, slope
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

RUBRIC = load_rubric(str(Path(__file__).parent / "data" / "deviation.toml"))
DIMENSIONS = tuple(RUBRIC.aspects)
DEVIATION = "deviation"
MEASURES = (DEVIATION, *DIMENSIONS)
NO_ROLE, ALL_ROLES = "no role", "all"
FLOOR = 0
"""The day of the unchanged report among the verdicts."""
UNIT = ["group", "repetition"]
"""The unit of analysis: a room, or the rooms of a repetition on several items of news."""


def plan_versions(tables: Tables, run: Path) -> str:
    """Return how many texts are judged. Errors: UserError for a run in which no story is passed on."""
    if not (texts := int(tables.versions["text"].notna().sum())):
        raise UserError(
            f"{run} has no story that is passed on: run --scenario news_evolution first (studies/news/README.md)"
        )
    return f"at most {texts:,} texts, {len(DIMENSIONS)} questions on each"


def verdicts(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """One row per version, and one per room for the unchanged report (round 0, iteration 0, no agent).

    Columns: topic, group, repetition, room, agent, role, round, iteration, received, depth, text, the six dimensions (0-10, NaN:
    missing), readings, reasons, deviation (mean of the six). A version without a text is not judged, and keeps its reason.
    """
    versions = tables.versions[tables.versions["iteration"].notna()].reset_index(drop=True)
    reports = versions[ROOM].drop_duplicates().assign(round=FLOOR, iteration=0, depth=0)
    reports["text"] = [_report(topic) for topic in reports["topic"]]
    kinds = {name: kind for name, kind in versions.dtypes.items() if name in reports}
    rows = pd.concat([reports.astype(kinds), versions], ignore_index=True)[list(versions.columns)]
    rows["role"] = rows["role"].fillna(NO_ROLE)
    table = rows.drop(columns="reason").join(
        judge.judge_texts(RUBRIC, rows, seed, {name: partial(_item, name) for name in DIMENSIONS})
    )
    return table.assign(**{DEVIATION: table[list(DIMENSIONS)].mean(axis=1, skipna=False)})


def _report(topic: str) -> str:
    """Return the true report of an item of news."""
    item = load_topic(topic).news
    assert item is not None
    return item.report


def _item(name: str, row: Any) -> Item:
    texts = {"source": one_line(_report(row.topic)), "statement": one_line(str(row.text))}
    slots = texts | {"aspect": RUBRIC.aspects[name]}
    return Item((f"{row.room} {row.iteration}", name), slots, facts={"dimension": name})


def written(table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on versions, without those on the unchanged report."""
    return table[table["round"] != FLOOR]


def floor(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the judge gives to the unchanged report, by room: the mean of the six, and each dimension.

    It is asked once for each room, so that the chance of its readings is in every interval over rooms.
    """
    return table[table["round"] == FLOOR].set_index("room")[list(MEASURES)]


def above_floor(table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on versions, each measure minus the floor of its room."""
    versions, floors = written(table), floor(table)
    room_floors = floors.reindex(versions["room"]).set_axis(versions.index)
    return versions.assign(**{name: versions[name] - room_floors[name] for name in MEASURES})


def unit_means(versions: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per unit: means of rooms, then of the rooms of a repetition, which have the same people on several items."""
    rooms = versions.groupby([*UNIT, "room"], sort=False)[list(names)].mean()
    return rooms.groupby(level=UNIT, sort=False).mean()


def by_day(table: pd.DataFrame, measures: Sequence[str] = MEASURES) -> pd.DataFrame:
    """One row per role (and all) and day: rooms (units), versions, missing, each measure (0-10) with its interval over units."""
    versions, rows = written(table), []
    for role, whole in (
        (ALL_ROLES, versions),
        *((str(role), role_versions) for role, role_versions in versions.groupby("role")),
    ):
        for day, day_versions in whole.groupby("round"):
            units = unit_means(day_versions, measures)
            row = {
                "role": role,
                "day": int(str(day)),
                "rooms": len(units[DEVIATION].dropna()),
                "versions": len(day_versions),
            }
            row["missing"] = int(day_versions[DEVIATION].isna().sum())
            for name in measures:
                values = units[name].dropna().to_numpy(dtype=float)
                row[name] = float(values.mean()) if len(values) else np.nan
                row[f"{name}_low"], row[f"{name}_high"] = mean_interval(values, bounds=SCALE)
            rows.append(row)
    return pd.DataFrame(rows)


def by_room(table: pd.DataFrame) -> pd.DataFrame:
    """One row per room: topic, group, repetition, room, last (deviation of the versions of the last day), growth (least-squares
    points a day), above (last minus the judge's floor in that room).
    """
    versions, floors = written(table), floor(table)[DEVIATION]
    rows = []
    for keys, room_versions in versions.groupby(ROOM, sort=False):
        days = room_versions.groupby("round")[DEVIATION].mean()
        last = float(days.iloc[-1]) if days.index[-1] == versions["round"].max() else np.nan
        rise = float(slope(days.to_numpy(dtype=float), days.index.to_numpy(dtype=float)))
        rows.append((*keys, last, rise, last - floors[keys[ROOM.index("room")]]))
    return pd.DataFrame(rows, columns=[*ROOM, "last", "growth", "above"])


def by_unit(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per unit: group, repetition, topic (the items of the run), and the means of `by_room` over its rooms.

    A number is NaN where that of one of the rooms is: conditions must not be compared on other items.
    """
    measures = ["last", "growth", "above"]
    means = by_room(table).groupby(UNIT, sort=False)[measures].agg(lambda values: values.mean(skipna=False))
    return means.reset_index().assign(topic=", ".join(table["topic"].unique()))


def by_item(table: pd.DataFrame) -> pd.DataFrame:
    """One row per item of news: topic, rooms, last, above and growth (means over rooms) with their intervals."""
    rows = []
    for topic, item_rooms in by_room(table).groupby("topic", sort=False):
        row: dict[str, Any] = {"topic": topic, "rooms": len(item_rooms)}
        for name in ("last", "above", "growth"):
            values = item_rooms[name].dropna().to_numpy(dtype=float)
            row[name] = float(values.mean()) if len(values) else np.nan
            row[f"{name}_low"], row[f"{name}_high"] = mean_interval(values, bounds=SCALE if name == "last" else None)
        rows.append(row)
    return pd.DataFrame(rows)


def added(table: pd.DataFrame) -> pd.DataFrame:
    """One row per role: rooms (units), versions, added (deviation of a version minus that of the version it was made of) with its
    interval, and p_holm. A version made of the report is compared with the judge's floor.
    """
    versions, floors = written(table), floor(table)[DEVIATION]
    deviations = versions.set_index(["room", "iteration"])[DEVIATION]
    parents = [
        floors[row.room] if row.received == 0 else deviations.get((row.room, row.received), np.nan)
        for row in versions.itertuples()
    ]
    steps = versions.assign(added=versions[DEVIATION] - np.array(parents, dtype=float)).dropna(subset="added")
    rows, p = [], []
    for role, role_steps in steps.groupby("role"):
        values = unit_means(role_steps, ["added"])["added"].to_numpy(dtype=float)
        rows.append((str(role), len(values), len(role_steps), float(values.mean()), *mean_interval(values)))
        p.append(p_of_mean(values))
    additions = pd.DataFrame(rows, columns=["role", "rooms", "versions", "added", "added_low", "added_high"])
    return additions.assign(p_holm=holm(np.array(p, dtype=float)))
