"""The fields of an intervention: what, to whom, in which rooms, and the words of a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import solara

from parley.analysis.tables import Tables
from parley.analysis.views._html import Select
from parley.analysis.views._session import rooms
from parley.model.scenario import MEDIATOR
from parley.model.titles import seat_title

KINDS = {"Send a message": "message", "Mute agents": "mute", "Unmute agents": "unmute", "Remove agents": "leave",
         "Bring agents back": "join"}  # fmt: skip
ALL, ALL_ROOMS = "all agents", "all debates"


def rooms_of_debates(tables: Tables) -> dict[str, str]:
    """Return the title of each room that debates, by its id."""
    debating = set(tables.agents.loc[tables.agents["group"].isin(tables.groups), "room"])
    return {room: title for room, title in rooms(tables).items() if room in debating}


def recipients(tables: Tables, people: pd.DataFrame) -> dict[str, str]:
    """Return whom an intervention may reach, by title: all agents, those of a party, or the agent at one seat of each debate."""
    parties = {tables.plural(party): party for party in people["party"].unique()}
    return {ALL: "all", **parties, **{seat_title(seat, tables.names): seat for seat in people["seat"].unique()}}


@solara.component
def InterventionFields(tables: Tables, button: str, act: Callable[[dict[str, Any]], None]) -> None:
    """act gets the keys of an intervention as in a preset, without its round."""
    people = tables.agents
    people = people[people["group"].isin(tables.groups) & (people["party"] != MEDIATOR)]
    titles = {title: room for room, title in rooms_of_debates(tables).items()}
    names = recipients(tables, people)
    label, to, where = solara.use_reactive(next(iter(KINDS))), solara.use_reactive(ALL), solara.use_reactive(ALL_ROOMS)
    by, text = solara.use_reactive("Ann"), solara.use_reactive("")
    Select("Action", list(KINDS), label)
    with solara.Columns([1, 1]):
        Select("Agents", list(names), to)
        Select("Debate", [ALL_ROOMS, *titles], where)
    kind = KINDS[label.value]
    if kind == "message":
        solara.InputText("Sender", by, continuous_update=True)
        solara.InputText("Message", text, continuous_update=True)

    def send() -> None:
        message = {"by": by.value, "text": text.value} if kind == "message" else {}
        room = {} if where.value == ALL_ROOMS else {"rooms": [titles[where.value]]}
        act({"kind": kind, "to": names[to.value], **message, **room})

    empty = kind == "message" and not text.value.strip()
    solara.Button(button, send, disabled=empty, color="primary")
