"""Every rating: how it was read, the answer probabilities, the raw reply, the reason if missing."""

from __future__ import annotations

import json
from typing import Any

import solara

from parley.analysis.formatting import format_number
from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import MOST, Cell, element, named, table
from parley.analysis.views._session import Shown, debates
from parley.analysis.views._words import probe_words
from parley.analysis.views.conversation import person_of

ORDER = 5
TITLE = "Surveys"
BARS = " ▁▂▃▄▅▆▇█"
HEADER = ["round", "who", "question", "answer", "opinion", "answers", "read", "asked", "reply", "reason missing"]
WORDS = (
    "Each row is one rating. answer: the rating itself. answers: the probability of each answer, the lowest answer first. "
    "opinion: their mean, which the charts show. "
    "read: how the reply was read as a number. asked: how often the question was put until the reply could be read."
)


def shows(tables: Tables) -> bool:
    return bool(tables.header.scenario["survey"] != "never")


@solara.component
def View(shown: Shown) -> None:
    titles = debates(shown.tables)
    room = solara.use_reactive(next(iter(titles)))
    finder("Room", titles, room.value, room.set, steps=len(titles) > 1)
    element("p", WORDS, css="soft")
    ratings = shown.tables.attitudes
    here = ratings[(ratings["room"] == room.value) & (ratings["round"] <= shown.round)]
    rows = [_row(row) for row in here.head(MOST).to_dict("records")]
    table(HEADER, rows, "Ratings of this room", shown.session.look_at, len(here))


def _row(row: dict[str, Any]) -> list[Cell]:
    numbers = format_number(row["answer"], 1), format_number(row["attitude"], 2), spark(row["probabilities"])
    return [
        str(row["round"]),
        named(str(row["name"]), person_of(row)),
        probe_words(str(row["probe"])),
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
