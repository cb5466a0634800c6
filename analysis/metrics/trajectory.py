"""Mean attitude by seat after each round, with the standard error over rooms (the points of the attitude figure)."""

from __future__ import annotations

import pandas as pd

from parley.analysis.rooms import seat_means
from parley.analysis.tables import Tables

ORDER = 1
TITLE = "Attitude by round"
NOTE = "The table shows mean attitudes (0-10) of roles over rooms. *Missing* counts ratings that could not be read."
LABELS: dict[str, str] = {}
KEYS = ["topic", "group", "seat", "party", "round"]


def compute(tables: Tables) -> pd.DataFrame:
    """Return the columns topic, group, seat, party, round, iteration, n (rooms rated), missing, mean, sd, se (all
    0-10).

    iteration: the replies so far; where chance decides how many agents speak in a round, their mean over rooms,
    rounded.
    """
    means = seat_means(tables.attitudes, KEYS, "attitude")
    means["iteration"] = tables.attitudes.groupby(KEYS, sort=False)["iteration"].mean().round().astype("int64")
    return means.reset_index()[[*KEYS, "iteration", "n", "missing", "mean", "sd", "se"]]
