"""How attitudes are spread in every round, over all rooms: a histogram a party, one row a round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import solara
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.load import Tables
from analysis.plots import OTHERS, STYLES, style
from analysis.views._session import Shown
from analysis.wording import REFERENCE

ORDER = 3
TITLE = "Distribution"
EDGES = np.arange(-0.25, 10.5, 0.5)


def shows(tables: Tables) -> bool:
    return bool(tables.header.scenario["survey"] != "never")


@solara.component
def View(shown: Shown) -> None:
    topics = shown.tables.topics
    topic = solara.use_reactive(topics[0])
    solara.Select("Topic", topics, topic)
    ratings = shown.tables.attitudes
    chosen = ratings[
        (ratings["topic"] == topic.value) & (ratings["group"] != REFERENCE) & (ratings["round"] <= shown.round)
    ]
    if chosen["attitude"].notna().any():
        solara.FigureMatplotlib(ridges(chosen), dependencies=[len(chosen), topic.value])


def ridges(ratings: pd.DataFrame) -> Figure:
    """One row a round, the first on top; steps in the party's colour and line."""
    rounds = sorted(ratings["round"].unique())
    parties = list(ratings["party"].unique())
    with style():
        figure = Figure(figsize=(5.2, 0.6 + 0.7 * len(rounds)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(rounds), 1, sharex=True, squeeze=False)[:, 0]
        for axis, round_ in zip(axes, rounds, strict=True):
            for place, party in enumerate(parties):
                here = ratings[(ratings["round"] == round_) & (ratings["party"] == party)]["attitude"].dropna()
                look = STYLES.get(party) or OTHERS[place % len(OTHERS)]
                axis.hist(
                    here, EDGES, histtype="step", color=look["color"], linestyle=look["linestyle"], label=party.title()
                )
            axis.set_ylabel(f"round {round_}", rotation=0, ha="right", va="center")
            axis.set_yticks([])
        axes[-1].set_xlabel("Attitude (0–10)")
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(parties), frameon=False
        )
    return figure
