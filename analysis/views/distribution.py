"""How attitudes are distributed in every round, over all rooms: a histogram per party, one row per round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import solara
from matplotlib.figure import Figure

from parley.analysis.figures import new_figure, styles_of_run
from parley.analysis.formatting import REFERENCE, seat_title
from parley.analysis.tables import Tables
from parley.analysis.views._html import painted, picture
from parley.analysis.views._session import Shown, surveyed

ORDER = 3
TITLE = "Distribution"
EDGES = np.arange(-0.25, 10.5, 0.5)
shows = surveyed


@solara.component
def View(shown: Shown) -> None:
    topics = shown.tables.topics
    topic = solara.use_reactive(topics[0])
    solara.Select("Topic", topics, topic)
    svg = solara.use_memo(lambda: _draw(shown, topic.value), [shown.tables, shown.round, topic.value])
    if svg:
        picture(svg, "Histograms of attitudes (0-10), a row per round and a line per party; Surveys has every rating")


def _draw(shown: Shown, topic: str) -> bytes:
    """Return the figure of a topic as SVG; nothing where every rating is missing."""
    ratings = shown.tables.attitudes
    chosen = ratings[(ratings["topic"] == topic) & (ratings["group"] != REFERENCE) & (ratings["round"] <= shown.round)]
    return painted(lambda: ridges(chosen, shown.tables)) if chosen["attitude"].notna().any() else b""


def ridges(ratings: pd.DataFrame, tables: Tables) -> Figure:
    """Draw one row per round, the first on top; steps have the colour and line of their party."""
    rounds, looks = sorted(ratings["round"].unique()), styles_of_run(tables)
    with new_figure(5.2, 0.6 + 0.7 * len(rounds)) as figure:
        axes = figure.subplots(len(rounds), 1, sharex=True, squeeze=False)[:, 0]
        for axis, round_ in zip(axes, rounds, strict=True):
            for party in ratings["party"].unique():
                here = ratings[(ratings["round"] == round_) & (ratings["party"] == party)]["attitude"].dropna()
                look, name = looks[party], seat_title(party, tables.names)
                axis.hist(here, EDGES, histtype="step", color=look["color"], linestyle=look["linestyle"], label=name)
            axis.set_ylabel(f"round {round_}", rotation=0, ha="right", va="center")
            axis.set_yticks([])
        axes[-1].set_xlabel("Attitude (0–10)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure
