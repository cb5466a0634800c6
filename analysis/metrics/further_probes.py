"""Further probes (`also` in the scenario) by seat after each round, each on a scale of its own."""

from __future__ import annotations

import pandas as pd

from parley.analysis.tables import Tables

ORDER = 5
TITLE = "Further probes by round"
NOTE = "Mean over rooms of one seat's rating, on the probe's own scale; se = sd / sqrt(n); missing counts what could not be read."
LABELS: dict[str, str] = {}
KEYS = ["probe", "topic", "group", "seat", "party", "round", "iteration"]


def compute(tables: Tables) -> pd.DataFrame:
    """Columns: probe, topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se."""
    grouped = tables.probes.groupby(KEYS, sort=False)["rating"]
    frame = grouped.agg(n="count", asked="size", mean="mean", sd="std").reset_index()
    frame["missing"] = frame.pop("asked") - frame["n"]
    frame["se"] = frame["sd"] / frame["n"] ** 0.5
    return frame[[*KEYS, "n", "missing", "mean", "sd", "se"]]
