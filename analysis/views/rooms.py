"""The rooms of a run as a table to sort: in which one agents moved most, ratings are missing most, replies copy most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import solara
import solara.lab

from parley.analysis.reply_faults import COPIED, reply_faults, sample_sentence, sampled
from parley.analysis.tables import Tables
from parley.analysis.views import conversation
from parley.analysis.views._html import Cell, element, named, sorted_table
from parley.analysis.views._session import Shown, debates

ORDER = 3
TITLE = "Rooms"
HEADER = ("room", "moved (points)", "missing ratings", "copied replies", "replies")
WORDS = (
    "moved: how far an agent's opinion changed from its first to its latest rating, averaged over the agents of the room, on the "
    "axis from 0 to 10. copied replies: replies whose phrases are mostly in earlier lines of the room. "
    "Choose a heading to sort, and a room to read its conversation."
)
NOTHING = "–"


def shows(tables: Tables) -> bool:
    return conversation.shows(tables) and len(debating(tables)) > 1


def debating(tables: Tables) -> set[str]:
    """Return the rooms with a debate; in the others one agent alone answers the survey."""
    return set(tables.agents.loc[tables.agents["group"].isin(tables.groups), "room"])


@solara.component
def View(shown: Shown) -> None:
    tables, session = shown.tables, shown.session
    task = solara.lab.use_task(lambda: room_rows(tables), dependencies=[tables], raise_error=False)
    rows = task.value if task.finished else None
    if rows is None:
        element("p", f"Not known: {task.exception}" if task.error else "Computing the table of rooms…", role="status")
        return

    def read(place: Sequence[object]) -> None:
        session.room.set(str(place[0]))
        session.tab.set("")

    limit = sample_sentence(sampled(tables.replies))
    element("p", f"{WORDS} {limit and f'Copied replies: {limit}'}".strip(), css="soft")
    sorted_table(HEADER, rows, "Rooms", read)


def room_rows(tables: Tables) -> list[list[Cell]]:
    """Return a row of HEADER for each room. A number that is not known is a dash, and is sorted last."""
    moved, faults = movement(tables), reply_faults(tables)
    missing = tables.attitudes.groupby("room")["attitude"].apply(lambda ratings: ratings.isna().mean()).to_dict()
    compared = faults.dropna(subset="copied")
    copied = (compared["copied"] > COPIED).groupby(compared["room"]).mean().to_dict()
    replies = tables.replies["room"].value_counts().to_dict()
    return [
        [named(title, (room, 0)), _number(moved, room, "{:.2f}"), _number(missing, room, "{:.0%}"),
         _number(copied, room, "{:.0%}"), _number(replies, room, "{:,}")]
        for room, title in debates(tables).items()
        if room in debating(tables)
    ]  # fmt: skip


def movement(tables: Tables) -> Mapping[str, float]:
    """Return by room the mean distance (points, 0-10) between the first and the latest rating of an agent; NaN without both."""
    ratings = tables.attitudes[tables.attitudes["probe"] == tables.header.scenario["probe"]]
    ratings = ratings.sort_values("round", kind="stable")
    ends = ratings.groupby(["room", "agent"], sort=False)["attitude"].agg(lambda values: distance(values.tolist()))
    return {str(room): float(value) for room, value in ends.groupby("room").mean().items()}


def distance(values: Sequence[float]) -> float:
    """Return how far the last of some ratings is from the first one; NaN where either is missing, or there is one alone.

    >>> distance([2.0, float("nan"), 3.5])
    1.5
    """
    return abs(values[-1] - values[0]) if len(values) > 1 else float("nan")


def _number(values: Mapping[str, float], room: str, form: str) -> Cell:
    value = values.get(room)
    known = value is not None and pd.notna(value)
    return {"text": form.format(value) if known else NOTHING, "value": float(value or 0) if known else None}
