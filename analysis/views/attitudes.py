"""Mean attitude by round with the standard error over rooms: the figure of the report, as far as the run has come."""

from __future__ import annotations

import solara

from analysis.load import Tables
from analysis.metrics import trajectory
from analysis.plots import attitudes
from analysis.summary import caption
from analysis.views._session import Shown

ORDER = 1
TITLE = "Attitudes"


def shows(tables: Tables) -> bool:
    return bool(tables.header.scenario["survey"] != "never")


@solara.component
def View(shown: Shown) -> None:
    points = trajectory.compute(shown.tables)
    points = points[points["round"] <= shown.round]
    figure = attitudes(shown.tables, points, shown.tables.groups, caption(shown.tables, points))
    solara.FigureMatplotlib(figure, dependencies=[len(shown.tables.attitudes), shown.round])
