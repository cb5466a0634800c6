"""Mean attitude by round with the standard error over rooms: the figure of the report, as far as the run has come."""

from __future__ import annotations

import solara

from analysis.load import Tables
from analysis.metrics import trajectory
from analysis.views._drawing import main
from analysis.views._html import painted, picture, table
from analysis.views._session import Shown, surveyed
from analysis.wording import number

ORDER = 1
TITLE = "Attitudes"


def shows(tables: Tables) -> bool:
    return surveyed(tables)


@solara.component
def View(shown: Shown) -> None:
    drawn = solara.use_memo(lambda: painted(main(shown)), [shown.tables, shown.round])
    picture(
        drawn,
        "Mean attitude by number of replies, with standard errors over rooms; its last points are in the table below",
    )
    points = solara.use_memo(lambda: trajectory.compute(shown.tables), [shown.tables])
    last = points[(points["round"] == shown.round) & points["group"].isin(shown.tables.groups)]
    numbers = ("mean", "se", "n", "missing")
    rows = [
        [shown.tables.title(row["topic"]), row["group"], row["seat"], *[number(row[key]) for key in numbers]]
        for row in last.to_dict("records")
    ]
    table(
        ["topic", "group", "seat", "mean", "se", "rooms", "missing"],
        rows,
        f"Attitudes (0-10) after round {shown.round}",
    )
