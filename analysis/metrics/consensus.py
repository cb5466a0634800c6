"""When, if ever, do the people of a network agree?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, share_interval, too_few
from parley.analysis.metrics import _network
from parley.analysis.metrics._cells import spans, with_interval
from parley.analysis.metrics._network import populations
from parley.analysis.metrics._rooms import KEYS, Room, missing_measurements, rated_rooms
from parley.analysis.tables import Tables

ORDER = 13
TITLE = "Consensus"
NOTE = (
    "A room (population) agrees from the first survey on at which the standard deviation of its attitudes is at most half a "
    "point, there and at every later one. Round is the median over all rooms (of an even number the mean of the middle two), "
    "those that never agree coming last; empty where half or more never do. A room that agrees at its last survey only has not "
    "been seen to stay there. Brackets hold Wilson intervals."
)
LABELS = {"rooms": "rooms", "share": "rooms that agree", "round": "from round", "reason": "why empty"}
NEEDS = _network.NEEDS
BOUND = 0.5


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group: rooms, missing (ratings), agreed (rooms), share, round, reason."""
    found = pd.DataFrame([_room(one.room) for one in populations(tables)], columns=[*KEYS, "when", "missing"])
    rows = [{**dict(zip(KEYS, key, strict=True)), **_row(part)} for key, part in found.groupby([*KEYS], sort=False)]
    kinds = dict.fromkeys(KEYS, "object") | dict.fromkeys(["rooms", "missing", "agreed"], "int64")
    kinds |= spans("share") | {"round": "float64", "reason": "object"}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def _room(room: Room) -> dict[str, Any]:
    unread = sum(missing_measurements(room.at(round_)) for round_ in room.attitudes)
    return {"topic": room.topic, "group": room.group, "when": agrees_from(room.attitudes), "missing": unread}


def agrees_from(attitudes: pd.DataFrame) -> float:
    """The first round from which on all surveys (columns) have a standard deviation of at most `BOUND`; infinity when there is
    none. A survey with fewer than two ratings shows no agreement.
    """
    values = [rated_rooms(attitudes[round_].to_numpy(dtype=float)) for round_ in attitudes]
    apart = [len(known) < 2 or known.std(ddof=1) > BOUND for known in values]
    if not apart or apart[-1]:
        return np.inf
    since = len(apart) - apart[::-1].index(True) if True in apart else 0
    return float(attitudes.columns[since])


def _row(part: pd.DataFrame) -> dict[str, Any]:
    when, rooms = part["when"].to_numpy(dtype=float), len(part)
    agreed, median = int(np.isfinite(when).sum()), float(np.median(when))
    never = "never" if not agreed else None if np.isfinite(median) else "half of the rooms or more never agree"
    reasons = [reason for reason in (too_few() if rooms < FEWEST else None, never) if reason]
    ends = share_interval(agreed, rooms)
    return {
        "rooms": rooms,
        "missing": int(part["missing"].sum()),
        "agreed": agreed,
        **with_interval("share", agreed / rooms, ends),
        "round": median if np.isfinite(median) else np.nan,
        "reason": "; ".join(reasons) or None,
    }
