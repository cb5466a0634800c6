"""Ratings of further questions (`also` in the scenario) by seat after each round, each on the question's own scale."""

from __future__ import annotations

import pandas as pd

from parley.agents.topic import shared_probes
from parley.analysis.metrics._rooms import seat_means
from parley.analysis.tables import Tables

ORDER = 5
TITLE = "Further questions by round"
NOTE = (
    "Mean rating of a seat over rooms, on the question's own scale; se = sd / sqrt(n); missing counts the ratings "
    "that could not be read."
)
LABELS: dict[str, str] = {}
KEYS = ["probe", "topic", "group", "seat", "party", "round", "iteration"]


def compute(tables: Tables) -> pd.DataFrame:
    """Return the columns probe, topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se."""
    options = {name for name, probe in shared_probes(tables.society.language).items() if probe.options}
    rated = tables.probes[~tables.probes["probe"].str.split(":").str[0].isin(options)]  # options have no mean
    return seat_means(rated, KEYS, "rating").reset_index()[[*KEYS, "n", "missing", "mean", "sd", "se"]]
