"""Ratings of further questions (`also` in the scenario) by seat after each round, each on the question's own scale."""

from __future__ import annotations

import pandas as pd

from parley.agents.probe import shared_probes
from parley.analysis.rooms import seat_means
from parley.analysis.tables import Tables

ORDER = 5
TITLE = "Further questions by round"
NOTE = "The table shows mean ratings of roles over rooms, on the question's own scale. *Missing* counts unreadable ratings."
LABELS: dict[str, str] = {}
KEYS = ["probe", "topic", "group", "seat", "party", "round", "iteration"]


def compute(tables: Tables) -> pd.DataFrame:
    """Return the columns probe, topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se."""
    return seat_means(_with_means(tables), KEYS, "rating").reset_index()[[*KEYS, "n", "missing", "mean", "sd", "se"]]


def _with_means(tables: Tables) -> pd.DataFrame:
    """Return the ratings of questions that have a mean: not of those whose answers are options. A log has none of these."""
    if tables.header.is_log:
        return tables.probes
    options = {name for name, probe in shared_probes(tables.society.language).items() if probe.options}
    return tables.probes[~tables.probes["probe"].str.split(":").str[0].isin(options)]
