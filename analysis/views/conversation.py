"""One room as a conversation: lines, interventions and the ratings after each round; with search."""

from __future__ import annotations

from typing import Any

import pandas as pd
import solara

from parley.agents.society import DEFAULT
from parley.analysis import provenance
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import format_number, seat_label
from parley.analysis.tables import Tables
from parley.analysis.views._html import Line, Select, line, log
from parley.analysis.views._session import Shown, rooms

ORDER = 2
TITLE = "Conversation"
EDGES = 3
"""Kinds of edges of a line (solid, double, dashed), by the place of the party; the neutral seat has a dotted one."""


def shows(tables: Tables) -> bool:
    return not deliberates(tables)


@solara.component
def View(shown: Shown) -> None:
    titles = rooms(shown.tables)
    debated = [room for room in titles if "/reference" not in room] or list(titles)
    room, search = solara.use_reactive(debated[0]), solara.use_reactive("")
    if room.value not in titles:
        room.set(debated[0])
    ids = {title: id_ for id_, title in reversed(titles.items())}
    with solara.Columns([1, 1]):
        Select("Room", list(titles.values()), titles[room.value], lambda title: room.set(ids[title]))
        solara.InputText("Search", search, continuous_update=True)
    log(room_lines(shown.tables, room.value, shown.round, search.value), "Conversation")


def room_lines(tables: Tables, room: str, last: int, search: str = "") -> list[Line]:
    """Return for each round of a room its heading, interventions, lines, and the ratings after it."""
    turns, ratings, acts = (
        frame[(frame["room"] == room) & (frame["round"] <= last)]
        for frame in (tables.utterances, tables.attitudes, tables.interventions)
    )
    seated = tables.agents[tables.agents["room"] == room].to_dict("records")
    party, looks = {row["agent"]: str(row["party"]) for row in seated}, edges(tables)
    lines: list[Line] = []
    for round_ in sorted({*turns["round"], *ratings["round"], *acts["round"]}):
        if round_:
            lines.append(line(f"Round {round_}", tag="h3"))
        for act in acts[acts["round"] == round_].to_dict("records"):
            lines.append(line(provenance.intervention_event(act, seated), "turn outside"))
        for row in turns[turns["round"] == round_].to_dict("records"):
            if search.lower() in f"{row['name']} {row['text']}".lower():
                lines.append(turn(row, looks[party[row["agent"]]]))
        lines += _ratings(ratings[ratings["round"] == round_], round_)
    return lines


def edges(tables: Tables) -> dict[str, tuple[str, str]]:
    """Return by party the class and the colour of the edge of its lines."""
    looks = styles_of_run(tables)
    others = [party for party in looks if party != DEFAULT]
    kinds = {party: f"edge-{place % EDGES}" for place, party in enumerate(others)} | {DEFAULT: DEFAULT}
    return {party: (kinds[party], look["color"]) for party, look in looks.items()}


def turn(row: dict[Any, Any], edge: tuple[str, str], more: str = "") -> Line:
    """Return the line of an agent. edge: of its party, as `edges` has it; more: what follows the agent's name."""
    text = row["text"] if isinstance(row["text"], str) else f"(silent: {row['reason']})"
    kind, colour = edge
    return line(text, f"turn {kind}", who=f"{row['name']} ({seat_label(row)}){more}: ", colour=colour)


def _ratings(rows: pd.DataFrame, round_: int) -> list[Line]:
    ratings = [
        f"{row['name']} {format_number(row['attitude'], 1) if pd.notna(row['attitude']) else row['reason']}"
        for row in rows.to_dict("records")
    ]
    when = f"After round {round_}" if round_ else "Before the debate"
    return [line(f"{when}: {', '.join(ratings)}", "rated")] if ratings else []
