"""How mixed is what people hear?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics import _network
from parley.analysis.metrics._network import Population, populations
from parley.analysis.metrics._rooms import RoomMeasurement, room_means
from parley.analysis.tables import Tables

ORDER = 16
TITLE = "Diversity of what is heard"
NOTE = (
    "Over the lines that a person hears in a round: variance (n - 1) and entropy of the speakers' attitudes at the survey before "
    "(entropy over the eleven whole points, 0 all alike, 1 all points alike often), and the share of lines of another party, "
    "beside what it would be if everybody heard everybody else alike. Means over people, then over rooms (populations)."
)
LABELS = {
    "rooms": "rooms",
    "variance": "variance",
    "entropy": "entropy",
    "cross": "other parties",
    "blind": "if all heard all",
    "reason": "why empty",
}
NEEDS = _network.NEEDS
MEASURES = ("variance", "entropy", "cross", "blind")
POINTS = 11
NOTHING_HEARD = "nobody heard anything"


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round from 1: rooms, missing (lines heard of unrated speakers), variance, entropy, cross,
    blind, reason.
    """
    return room_means(_rows(tables), MEASURES)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    said = tables.utterances[["room", "iteration", "round", "agent"]]
    lines = tables.heard.merge(said, on=["room", "iteration"], suffixes=("", "_said"), validate="many_to_one")
    heard = dict(iter(lines.groupby("room", sort=False)))
    for one in populations(tables):
        here = heard.get(one.room.name, lines.iloc[:0])
        for round_ in range(1, one.last + 1):
            yield {**one.room.keys, "round": round_, **_measured(one, here[here["round"] == round_], round_)}


def _measured(one: Population, lines: pd.DataFrame, round_: int) -> dict[str, Any]:
    before = [asked for asked in one.room.attitudes if asked < round_]
    stands = one.room.attitudes[before[-1]] if before else pd.Series(np.nan, index=one.room.parties.index)
    attitudes = lines["agent_said"].map(stands)
    by_hearer = attitudes.dropna().groupby(lines["agent"])
    other = lines["agent"].map(one.room.parties) != lines["agent_said"].map(one.room.parties)
    return {
        "missing": int(attitudes.isna().sum()),
        "variance": _over_people(by_hearer.var(), "nobody heard two rated speakers"),
        "entropy": _over_people(by_hearer.agg(lambda told: entropy(told.to_numpy())), "nobody heard a rated speaker"),
        "cross": _over_people(other.groupby(lines["agent"]).mean(), NOTHING_HEARD),
        "blind": blind(one.room.parties),
    }


def _over_people(values: pd.Series, none: str) -> RoomMeasurement:
    known = values.dropna()
    return RoomMeasurement(float(known.mean())) if len(known) else RoomMeasurement(None, none)


def entropy(attitudes: Floats) -> float:
    """Shannon's entropy of attitudes as whole points, as a share of its greatest value log 11.

    >>> round(entropy(np.array([2.0, 2.0, 8.0, 8.0])), 3)  # log 2 / log 11
    0.289
    """
    counts = np.unique(np.round(attitudes), return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / np.log(POINTS)) + 0.0


def blind(parties: pd.Series) -> RoomMeasurement:
    """The share of ordered pairs of different people that are of different parties.

    >>> blind(pd.Series(["a", "a", "b"])).value
    0.6666666666666666
    """
    n, counts = len(parties), parties.value_counts()
    if n < 2:
        return RoomMeasurement(None, "one person only")
    return RoomMeasurement(float(1 - (counts * (counts - 1)).sum() / (n * (n - 1))))
