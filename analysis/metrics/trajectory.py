"""Mean attitude by seat after each round, with the standard error over rooms (Figs 3-9: the plotted points)."""

from __future__ import annotations

import pandas as pd

from parley.analysis.tables import Tables

ORDER = 1
TITLE = "Attitude by round"
NOTE = "Mean over rooms of one seat's attitude (0-10); se = sd / sqrt(n); missing counts the ratings that could not be read."
LABELS: dict[str, str] = {}
KEYS = ["topic", "group", "seat", "party", "round"]


def compute(tables: Tables) -> pd.DataFrame:
    """Columns: topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se (all on 0-10).

    iteration: the replies so far; where chance decides how many speak in a round, their mean over rooms, rounded.
    """
    grouped = tables.attitudes.groupby(KEYS, sort=False)
    frame = grouped["attitude"].agg(n="count", asked="size", mean="mean", sd="std")
    frame["iteration"] = grouped["iteration"].mean().round().astype("int64")
    frame["missing"] = frame.pop("asked") - frame["n"]
    frame["se"] = frame["sd"] / frame["n"] ** 0.5
    return frame.reset_index()[[*KEYS, "iteration", "n", "missing", "mean", "sd", "se"]]
