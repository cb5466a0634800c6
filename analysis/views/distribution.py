"""How attitudes are distributed after each round, over all rooms: a histogram per party and round, on one scale of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import solara
from numpy.typing import NDArray

from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import REFERENCE
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Chart, Drawn, Line, Panel, last_round, party_key, scale_ends
from parley.analysis.views._html import Select, element
from parley.analysis.views._session import Shown, surveyed
from parley.analysis.views.attitudes import chart_caption
from parley.model.titles import seat_title

ORDER = 3
TITLE = "Distribution"
BINS = np.arange(0, 10.5, 0.5)
"""The middle of each bin."""
HEADER = ("party", "round", "attitude", "ratings")
shows = surveyed


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    titles = {tables.title(topic): topic for topic in tables.topics}
    chosen = solara.use_reactive(next(iter(titles)))
    if len(titles) > 1:
        Select("Topic", list(titles), chosen)
    topic = titles.get(chosen.value, tables.topics[0])
    stem = shown.session.folder.name if shown.session.folder else "run"
    chart = solara.use_memo(lambda: histograms(tables, topic, f"{stem}-distribution"), [tables, topic])
    if chart.keys:
        Drawn(
            chart,
            shown.round,
            f"Number of ratings from 0 to 10 by party and round, on one scale: {tables.title(topic)}",
        )
    else:
        element("p", "There are no ratings yet.", css="soft")


def histograms(tables: Tables, topic: str, file: str) -> Chart:
    """Return the number of ratings in each bin, by party and round."""
    ratings = tables.attitudes
    ratings = ratings[(ratings["topic"] == topic) & (ratings["group"] != REFERENCE)]
    if ratings["attitude"].isna().all():
        ratings = ratings.iloc[:0]
    looks, lines, rows = styles_of_run(tables), [], list[tuple[str, int, Sequence[Any]]]()
    parties = [str(party) for party in ratings["party"].unique()]
    for party in parties:
        party_ratings, name = ratings[ratings["party"] == party], seat_title(party, tables.names)
        by_round = [
            party_ratings.loc[party_ratings["round"] == round_, "attitude"]
            for round_ in range(int(party_ratings["round"].max()) + 1)
        ]
        counts = [bin_counts(values.dropna().to_numpy()) for values in by_round]
        missing = [int(values.isna().sum()) for values in by_round]
        lines.append(Line(party, counts=counts, missing=missing))
        for round_, binned in enumerate(counts):
            cells = [*zip(BINS.tolist(), binned, strict=True), ("missing", missing[round_])]
            rows += [(party, round_, [name, round_, value, count]) for value, count in cells if count]
    keys = [party_key(party, seat_title(party, tables.names), looks[party]) for party in parties]
    panel = Panel(tables.title(topic), lines, *scale_ends(tables, topic))
    caption = f"{tables.title(topic)}. {chart_caption(tables).partition('. ')[0]}."
    return Chart("bars", file, caption, last_round(tables), keys, [panel], HEADER, rows, bins=BINS.tolist())


def bin_counts(values: NDArray[np.float64]) -> list[int]:
    """Return how many attitudes are nearest to each half point.

    >>> bin_counts(np.array([0.0, 0.2, 10.0]))[:2]
    [2, 0]
    """
    edges = np.append(BINS - 0.25, BINS[-1] + 0.25)
    return [int(count) for count in np.histogram(values, edges)[0]]
