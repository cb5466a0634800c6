"""Mean attitude by seat after each round, with the standard error over rooms (Figs 3-9: the plotted points)."""

from __future__ import annotations

import pandas as pd

from analysis.load import Tables

ORDER = 1
TITLE = "Attitude by round"
NOTE = "Mean over rooms of one seat's attitude (0-10); se = sd / sqrt(n); missing counts the ratings that could not be read."
LABELS: dict[str, str] = {}
KEYS = ["topic", "group", "seat", "party", "round", "iteration"]


def compute(tables: Tables) -> pd.DataFrame:
    """Columns: topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se (all on 0-10)."""
    grouped = tables.attitudes.groupby(KEYS, sort=False)["attitude"]
    frame = grouped.agg(n="count", asked="size", mean="mean", sd="std").reset_index()
    frame["missing"] = frame.pop("asked") - frame["n"]
    frame["se"] = frame["sd"] / frame["n"] ** 0.5
    return frame[[*KEYS, "n", "missing", "mean", "sd", "se"]]
