"""How attitudes are spread in every round, over all rooms: a histogram a party, one row a round."""

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


def shows(tables: Tables) -> bool:
    return surveyed(tables)


@solara.component
def View(shown: Shown) -> None:
    topics = shown.tables.topics
    topic = solara.use_reactive(topics[0])
    solara.Select("Topic", topics, topic)
    drawn = solara.use_memo(lambda: draw(shown, topic.value), [shown.tables, shown.round, topic.value])
    if drawn:
        picture(
            drawn, "Histograms of attitudes (0-10), a row a round and a line a party; every rating is under Surveys"
        )


def draw(shown: Shown, topic: str) -> bytes:
    """The figure of a topic, as SVG; nothing where nobody could be read."""
    ratings = shown.tables.attitudes
    chosen = ratings[(ratings["topic"] == topic) & (ratings["group"] != REFERENCE) & (ratings["round"] <= shown.round)]
    return painted(lambda: ridges(chosen, shown.tables)) if chosen["attitude"].notna().any() else b""


def ridges(ratings: pd.DataFrame, tables: Tables) -> Figure:
    """One row a round, the first on top; steps in the party's colour and line."""
    rounds = sorted(ratings["round"].unique())
    parties, looks = list(ratings["party"].unique()), styles_of_run(tables)
    with new_figure(5.2, 0.6 + 0.7 * len(rounds)) as figure:
        axes = figure.subplots(len(rounds), 1, sharex=True, squeeze=False)[:, 0]
        for axis, round_ in zip(axes, rounds, strict=True):
            for party in parties:
                here = ratings[(ratings["round"] == round_) & (ratings["party"] == party)]["attitude"].dropna()
                look, name = looks[party], seat_title(party, tables.names)
                axis.hist(here, EDGES, histtype="step", color=look["color"], linestyle=look["linestyle"], label=name)
            axis.set_ylabel(f"round {round_}", rotation=0, ha="right", va="center")
            axis.set_yticks([])
        axes[-1].set_xlabel("Attitude (0–10)")
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(parties), frameon=False
        )
    return figure
