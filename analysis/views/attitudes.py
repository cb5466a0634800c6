"""The attitude figure of the report, up to a round, and its last points as a table."""

from __future__ import annotations

import solara
from matplotlib.figure import Figure

from parley.analysis.comparisons import mean_attitudes
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import format_number, group_title
from parley.analysis.metrics import trajectory
from parley.analysis.plots import attitudes
from parley.analysis.summary import caption
from parley.analysis.tables import Tables
from parley.analysis.views._html import painted, picture, table
from parley.analysis.views._session import Shown, surveyed
from parley.analysis.views.consensus import consensus

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


def main(shown: Shown) -> Figure:
    """Draw the main figure of the report, up to the round."""
    if deliberates(shown.tables):
        return consensus(shown)
    points = trajectory.compute(shown.tables)
    points = points[points["round"] <= shown.round]
    return attitudes(shown.tables, points, shown.tables.groups, caption(shown.tables, points))


def drawable(tables: Tables) -> bool:
    """Return whether there is a main figure."""
    return bool(tables.header.scenario["survey"] != "never") and bool(tables.groups)
