"""The same topic in every group, side by side: a room of each, and how far its people have moved."""

from __future__ import annotations

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import format_number, group_title, seat_title
from parley.analysis.tables import Tables
from parley.analysis.views._html import element, log
from parley.analysis.views._session import Shown
from parley.analysis.views.conversation import said

ORDER = 3
TITLE = "Groups"


def shows(tables: Tables) -> bool:
    return len(tables.groups) > 1 and not deliberates(tables)  # each of those has questions of its own


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    topics, numbers = list(seats["topic"].unique()), sorted(int(one) + 1 for one in seats["repetition"].unique())
    topic, room = solara.use_reactive(topics[0]), solara.use_reactive(numbers[0])
    with solara.Columns([1, 1]):
        solara.Select("Topic", topics, topic)
        solara.Select("Room", numbers, room)
    here = seats[(seats["topic"] == topic.value) & (seats["repetition"] == room.value - 1)]
    element(
        "div",
        *[_group(shown, group, rows["room"].iloc[0]) for group, rows in here.groupby("group", sort=False)],
        css="beside",
    )


def _group(shown: Shown, group: str, room: str) -> object:
    name = group_title(group, shown.tables.names)
    told = element("p", moved(shown.tables, room, shown.round), css="soft")
    return element(
        "section", element("h3", name), told, log(said(shown.tables, room, shown.round), name), **{"aria-label": name}
    )


def moved(tables: Tables, room: str, last: int) -> str:
    """Each party's mean attitude in a room before the debate and at a round, of those that could be read."""
    rows = tables.attitudes[(tables.attitudes["room"] == room) & tables.attitudes["round"].isin([0, last])]
    means = rows.groupby(["party", "round"], sort=False)["attitude"].mean()
    told = [
        f"{seat_title(party, tables.names)} {' → '.join(format_number(means.get((party, round_)), 1) for round_ in (0, last))}"
        for party in rows["party"].unique()
    ]
    return f"Mean attitude before → after round {last}: {', '.join(told)}" if told else "nobody was asked"
