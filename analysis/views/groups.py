"""The same topic in every group: one room of each, with attitudes before and after."""

from __future__ import annotations

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import format_number
from parley.analysis.tables import Tables
from parley.analysis.views._html import Select, element, log
from parley.analysis.views._session import Shown
from parley.analysis.views.conversation import room_lines
from parley.model.titles import group_title, seat_title

ORDER = 3
TITLE = "Groups"


def shows(tables: Tables) -> bool:
    return len(tables.groups) > 1 and not deliberates(tables)  # each deliberation has its own question


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    topics, numbers = (
        list(seats["topic"].unique()),
        sorted(int(repetition) + 1 for repetition in seats["repetition"].unique()),
    )
    topic, room = solara.use_reactive(topics[0]), solara.use_reactive(numbers[0])
    with solara.Columns([1, 1]):
        Select("Topic", topics, topic)
        Select("Room", numbers, room)
    here = seats[(seats["topic"] == topic.value) & (seats["repetition"] == room.value - 1)]
    sections = [_group(shown, group, rows["room"].iloc[0]) for group, rows in here.groupby("group", sort=False)]
    element("div", *sections, css="beside")


def _group(shown: Shown, group: str, room: str) -> object:
    name = group_title(group, shown.tables.names)
    means = element("p", mean_change(shown.tables, room, shown.round), css="soft")
    lines = log(room_lines(shown.tables, room), name, shown.round, shown.session.look_at)
    return element("section", element("h3", name), means, lines, **{"aria-label": name})


def mean_change(tables: Tables, room: str, last: int) -> str:
    """Return each party's mean attitude in a room before the debate and after a round."""
    rows = tables.attitudes[(tables.attitudes["room"] == room) & tables.attitudes["round"].isin([0, last])]
    means = rows.groupby(["party", "round"], sort=False)["attitude"].mean()
    changes = []
    for party in rows["party"].unique():
        before, after = (format_number(means.get((party, round_)), 1) for round_ in (0, last))
        changes.append(f"{seat_title(party, tables.names)} {before} → {after}")
    return f"Mean attitude before → after round {last}: {', '.join(changes)}" if changes else "no survey in this room"
