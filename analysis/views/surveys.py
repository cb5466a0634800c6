"""Every rating: how it was read, the answer probabilities where the model gives them, the raw reply, the reason if missing."""

from __future__ import annotations

import json
from typing import Any

import solara

from parley.analysis.formatting import format_number
from parley.analysis.tables import Tables
from parley.analysis.views._html import table
from parley.analysis.views._session import Shown, rooms

ORDER = 5
TITLE = "Surveys"
BARS = " ▁▂▃▄▅▆▇█"
HEADER = ["round", "who", "attitude", "expected", "answers", "read", "asked", "reply", "reason missing"]


def shows(tables: Tables) -> bool:
    return bool(tables.header.scenario["survey"] != "never")


@solara.component
def View(shown: Shown) -> None:
    names = list(rooms(shown.tables))
    room = solara.use_reactive(names[0])
    solara.Select("Room", names, room, dense=True)
    ratings = shown.tables.attitudes
    rows = ratings[(ratings["room"] == room.value) & (ratings["round"] <= shown.round)].to_dict("records")
    table(HEADER, [_row(row) for row in rows], "Ratings of this room")


def _row(row: dict[str, Any]) -> list[str]:
    numbers = format_number(row["attitude"], 1), format_number(row["expected"], 2), spark(row["probabilities"])
    return [
        str(row["round"]),
        row["name"],
        *numbers,
        row["how"],
        str(row["asked"]),
        row["raw"] or "",
        row["reason"] or "",
    ]


def spark(probabilities: str | None) -> str:
    """Return a distribution as a row of bars, lowest answer first.

    >>> spark("[0.0, 0.5, 0.25, 0.25]")
    ' █▄▄'
    """
    shares = json.loads(probabilities) if isinstance(probabilities, str) else []
    most = max(shares, default=0)
    return "".join(BARS[round(8 * share / most)] for share in shares) if most else ""
