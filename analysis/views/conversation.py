"""One room as a conversation: who said what, what came from outside, the ratings that followed; search, and a jump to a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import solara

from parley.analysis import provenance
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import format_number
from parley.analysis.tables import Tables
from parley.analysis.views._html import Line, line, log
from parley.analysis.views._session import Shown, rooms

ORDER = 2
TITLE = "Conversation"
PARTIES = ("republican", "democrat", "default")
Rows = Sequence[dict[Any, Any]]


def shows(tables: Tables) -> bool:
    return not deliberates(tables)


@solara.component
def View(shown: Shown) -> None:
    named = rooms(shown.tables)
    debated = [room for room in named if "/reference" not in room] or list(named)
    room, search = solara.use_reactive(debated[0]), solara.use_reactive("")
    if room.value not in named:
        room.set(debated[0])
    with solara.Columns([1, 1]):
        solara.Select("Room", list(named.values()), named[room.value], lambda told: room.set(_id(named, told)))
        solara.InputText("Search", search, continuous_update=True)
    log(said(shown.tables, room.value, shown.round, search.value), "Conversation")


def said(tables: Tables, room: str, last: int, search: str = "") -> list[Line]:
    """Headings of rounds, what came from outside, turns, and after each round what everybody rated."""
    turns, ratings, acts = (
        _of(frame, room, last) for frame in (tables.utterances, tables.attitudes, tables.interventions)
    )
    seated: Rows = tables.agents[tables.agents["room"] == room].to_dict("records")
    party = {row["agent"]: str(row["party"]) for row in seated}
    found: list[Line] = []
    for round_ in sorted({*turns["round"], *ratings["round"], *acts["round"]}):
        here = [row for row in turns[turns["round"] == round_].to_dict("records") if _found(row, search)]
        if round_:
            found.append(line(f"Round {round_}", tag="h3"))
        for act in acts[acts["round"] == round_].to_dict("records"):
            found.append(line(provenance.intervention_event(act, seated), "turn outside"))
        found += [turn(row, party[row["agent"]]) for row in here]
        found += _rated(ratings[ratings["round"] == round_], round_)
    return found


def _of(frame: pd.DataFrame, room: str, last: int) -> pd.DataFrame:
    return frame[(frame["room"] == room) & (frame["round"] <= last)]


def _found(row: dict[Any, Any], search: str) -> bool:
    return search.lower() in f"{row['name']} {row['text']}".lower()


def turn(row: dict[Any, Any], party: str, more: str = "") -> Line:
    """What somebody said; `more` is told of it behind the name."""
    text = row["text"] if isinstance(row["text"], str) else f"(silent: {row['reason']})"
    return line(text, f"turn {party if party in PARTIES else 'other'}", who=f"{row['name']} ({row['seat']}){more}: ")


def _rated(rows: pd.DataFrame, round_: int) -> list[Line]:
    told = ", ".join(
        f"{row['name']} {format_number(row['attitude'], 1) if pd.notna(row['attitude']) else row['reason']}"
        for row in rows.to_dict("records")
    )
    when = f"After round {round_}" if round_ else "Before the debate"
    return [line(f"{when}: {told}", "rated")] if told else []


def _id(named: dict[str, str], told: str) -> str:
    return next(room for room, title in named.items() if title == told)
