"""The attitude figure of the report, up to a round, and its last points as a table."""

from __future__ import annotations

import solara

from parley.analysis.formatting import format_number, group_title
from parley.analysis.run_comparison import mean_attitudes
from parley.analysis.views._drawing import main
from parley.analysis.views._html import painted, picture, table
from parley.analysis.views._session import Shown, surveyed

ORDER = 1
TITLE = "Attitudes"
shows = surveyed


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    svg = solara.use_memo(lambda: painted(lambda: main(shown)), [tables, shown.round])
    picture(
        svg,
        "Mean attitude by number of replies, with standard errors over rooms; its last points are in the table below",
    )
    points = solara.use_memo(lambda: mean_attitudes(tables), [tables])
    rows = [
        [tables.title(row["topic"]), group_title(row["group"], tables.names), row["party"],
         *(format_number(row[key]) for key in ("mean", "se", "n"))]
        for row in points[points["round"] == shown.round].to_dict("records")
    ]  # fmt: skip
    header = ["topic", "group", "party", "mean", "standard error", "rooms"]
    table(header, rows, f"Attitudes (0-10) after round {shown.round}, averages over rooms")
