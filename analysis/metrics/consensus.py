"""When do the agents of a network agree, if ever?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics._cells import COUNTS, share_columns, spans
from parley.analysis.metrics._network import populations
from parley.analysis.rooms import KEYS, Room
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.analysis.tables import Tables

ORDER = 13
TITLE = "Consensus"
NOTE = (
    "A room agrees from the first survey after which the standard deviation of its attitudes stays at or below half a point. "
    "The column *round* has the median round of agreement over all rooms; rooms that never agree count as last. The column is "
    "empty if half of the rooms or more never agree. If a room agrees at its last survey only, no later survey shows that the "
    "agreement lasts. Surveys with fewer than two ratings are left out, and so are rooms whose last survey has fewer than two "
    "ratings. Brackets hold Wilson intervals."
)
LABELS = {"rooms": "rooms", "share": "rooms that agree", "round": "from round", "reason": "reason if missing"}
NEEDS = "links"
BOUND = 0.5


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms (last survey read), missing (ratings), agreed (rooms), share, round, reason."""
    room_rows = pd.DataFrame(
        [_room_row(population.room) for population in populations(tables)], columns=[*KEYS, "when", "missing"]
    )
    rows = [dict(zip(KEYS, key, strict=True)) | _row(rooms) for key, rooms in room_rows.groupby([*KEYS], sort=False)]
    kinds = dict.fromkeys(KEYS, "object") | COUNTS | {"agreed": "int64"} | spans("share")
    kinds |= {"round": "float64", "reason": "object"}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def _room_row(room: Room) -> dict[str, Any]:
    return {**room.keys, "when": agrees_from(room.attitudes), "missing": int(room.attitudes.isna().to_numpy().sum())}


def agrees_from(attitudes: pd.DataFrame) -> float:
    """Return the first round from which on all surveys (columns) have a standard deviation of at most `BOUND`, else
    infinity; NaN where the last survey has fewer than two ratings. Other such surveys are left out.
    """
    spreads = attitudes.std(ddof=1)
    if spreads.empty or np.isnan(spreads.iloc[-1]):
        return np.nan
    spreads = spreads.dropna()
    differ = np.flatnonzero(spreads > BOUND)
    since = differ[-1] + 1 if len(differ) else 0
    return float(spreads.index[since]) if since < len(spreads) else np.inf


def _row(room_rows: pd.DataFrame) -> dict[str, Any]:
    when = room_rows["when"].dropna().to_numpy(dtype=float)
    rooms, unread = len(when), len(room_rows) - len(when)
    agreed, median = int(np.isfinite(when).sum()), float(np.median(when)) if rooms else np.nan
    never = "never" if not agreed else None if np.isfinite(median) else "half of the rooms or more never agree"
    lost = f"the ratings of the last survey could not be read in {unread} of {len(room_rows)} rooms" if unread else None
    reasons = [reason for reason in (too_few() if rooms < FEWEST else None, lost, never if rooms else None) if reason]
    row: dict[str, Any] = {"rooms": rooms, "missing": int(room_rows["missing"].sum()), "agreed": agreed}
    row |= {"round": median if np.isfinite(median) else np.nan, "reason": "; ".join(reasons) or None}
    return row | share_columns("share", agreed, rooms)
