"""Mean attitude by round with the standard error over rooms: the figure of the report, as far as the run has come."""

from __future__ import annotations

import solara

from parley.analysis.formatting import format_number, group_title
from parley.analysis.run_comparison import mean_attitudes
from parley.analysis.tables import Tables
from parley.analysis.views._drawing import main
from parley.analysis.views._html import painted, picture, table
from parley.analysis.views._session import Shown, surveyed

ORDER = 1
TITLE = "Attitudes"


def shows(tables: Tables) -> bool:
    return surveyed(tables)


@solara.component
def View(shown: Shown) -> None:
    drawn = solara.use_memo(lambda: painted(lambda: main(shown)), [shown.tables, shown.round])
    picture(
        drawn,
        "Mean attitude by number of replies, with standard errors over rooms; its last points are in the table below",
    )
    points = solara.use_memo(lambda: mean_attitudes(shown.tables), [shown.tables])
    rows = [
        [
            shown.tables.title(row["topic"]),
            group_title(row["group"], shown.tables.names),
            row["party"],
            *[format_number(row[key]) for key in ("mean", "se", "n")],
        ]
        for row in points[points["round"] == shown.round].to_dict("records")
    ]
    table(
        ["topic", "group", "party", "mean", "se", "rooms"],
        rows,
        f"Attitudes (0-10) after round {shown.round}, room means",
    )
