"""Every rating: how it was read, the distribution of answers where the model tells one, the reply as it came."""

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


def shows(tables: Tables) -> bool:
    return bool(tables.header.scenario["survey"] != "never")


@solara.component
def View(shown: Shown) -> None:
    named = rooms(shown.tables)
    room = solara.use_reactive(next(iter(named)))
    solara.Select("Room", list(named), room, dense=True)
    ratings = shown.tables.attitudes
    rows = ratings[(ratings["room"] == room.value) & (ratings["round"] <= shown.round)].to_dict("records")
    header = ["round", "who", "attitude", "expected", "answers", "read", "asked", "reply", "why empty"]
    table(header, [_row(row) for row in rows], "Ratings of this room")


def _row(row: dict[str, Any]) -> list[str]:
    raw, why = row["raw"] or "", row["reason"] or ""
    numbers = [format_number(row["attitude"], 1), format_number(row["expected"], 2)]
    return [
        str(row["round"]),
        row["name"],
        *numbers,
        spark(row["probabilities"]),
        row["how"],
        str(row["asked"]),
        raw,
        why,
    ]


def spark(probabilities: str | None) -> str:
    """A distribution as a row of bars, lowest answer first.

    >>> spark("[0.0, 0.5, 0.25, 0.25]")
    ' █▄▄'
    """
    shares = json.loads(probabilities) if isinstance(probabilities, str) else []
    most = max(shares, default=0)
    return "".join(BARS[round(8 * share / most)] for share in shares) if most else ""
