"""One room as a conversation: who said what, the rating that followed; search, and a jump to a round."""

from __future__ import annotations

from typing import Any

import pandas as pd
import solara

from analysis.load import Tables
from analysis.views._html import element
from analysis.views._session import Shown, rooms
from analysis.wording import number

ORDER = 2
TITLE = "Conversation"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    named = rooms(shown.tables)
    room, search = solara.use_reactive(next(iter(named))), solara.use_reactive("")
    if room.value not in named:
        room.set(next(iter(named)))
    with solara.Columns([1, 1]):
        solara.Select("Room", list(named.values()), named[room.value], lambda told: room.set(_id(named, told)))
        solara.InputText("Search", search, continuous_update=True)
    lines = list(said(shown.tables, room.value, shown.round, search.value))
    element(
        "div", *(lines or ["nothing was said yet"]), css="conversation", role="log", **{"aria-label": "Conversation"}
    )


def said(tables: Tables, room: str, last: int, search: str) -> list[Any]:
    """Headings of rounds, turns, and after each round what everybody rated."""
    turns, ratings = (_of(frame, room, last) for frame in (tables.utterances, tables.attitudes))
    party = tables.agents.set_index(["room", "agent"])["party"]
    found: list[Any] = []
    for round_ in sorted({*turns["round"], *ratings["round"]}):
        here = [row for row in turns[turns["round"] == round_].to_dict("records") if _found(row, search)]
        if round_:
            found.append(element("h3", f"Round {round_}"))
        found += [_turn(row, str(party[room, row["agent"]])) for row in here]
        found.append(_rated(ratings[ratings["round"] == round_], round_))
    return found


def _of(frame: pd.DataFrame, room: str, last: int) -> pd.DataFrame:
    return frame[(frame["room"] == room) & (frame["round"] <= last)]


def _found(row: dict[str, Any], search: str) -> bool:
    return search.lower() in f"{row['name']} {row['text']}".lower()


def _turn(row: dict[str, Any], party: str) -> Any:
    text = row["text"] if isinstance(row["text"], str) else f"(silent: {row['reason']})"
    name = element("strong", f"{row['name']} ({row['seat']}): ")
    return element("p", name, element("span", text), css=f"turn {party if party in PARTIES else 'other'}")


PARTIES = ("republican", "democrat", "default")


def _rated(rows: pd.DataFrame, round_: int) -> Any:
    told = ", ".join(
        f"{row['name']} {number(row['attitude'], 1) if pd.notna(row['attitude']) else row['reason']}"
        for row in rows.to_dict("records")
    )
    when = f"After round {round_}" if round_ else "Before the debate"
    return element("p", f"{when}: {told}" if told else "", css="rated")


def _id(named: dict[str, str], told: str) -> str:
    return next(room for room, title in named.items() if title == told)
