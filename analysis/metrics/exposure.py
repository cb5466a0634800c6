"""How mixed is what agents hear?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics._network import Population, populations
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import POSITIVE, SHARE, Floats
from parley.analysis.tables import Tables

ORDER = 16
TITLE = "Diversity of the messages heard"
NOTE = (
    "The numbers describe the messages that an agent hears in a round. Variance (n - 1) and entropy describe the speakers' "
    "attitudes in the survey before the round. Entropy counts whole points: 0 if all attitudes are equal, 1 if all points are "
    "equally frequent. *Other parties* is the share of messages from another party; the column *if all heard all* has this "
    "share if all agents heard all other agents. The table shows means over agents, then over rooms."
)
LABELS = {
    "rooms": "rooms", "variance": "variance", "entropy": "entropy", "cross": "other parties",
    "blind": "if all heard all", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "links"
BOUNDS = {"variance": POSITIVE, "entropy": SHARE, "cross": SHARE, "blind": SHARE}
POINTS = 11
"""Points of the scale from 0 to 10: the entropy is 1 where a person hears all of them equally often."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round from 1: rooms, missing (lines of unrated speakers), variance, entropy,
    cross, blind, reason.
    """
    return room_means(_rows(tables), tuple(BOUNDS), bounds=BOUNDS)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    turns = tables.utterances[["room", "iteration", "round", "agent"]]
    lines = tables.heard.merge(turns, on=["room", "iteration"], suffixes=("", "_said"), validate="many_to_one")
    by_room = dict(iter(lines.groupby("room", sort=False)))
    for population in populations(tables):
        heard = by_room.get(population.room.name, lines.iloc[:0])
        for round_ in range(1, population.last + 1):
            measured = _measure_round(population, heard[heard["round"] == round_], round_)
            yield {**population.room.keys, "round": round_, **measured}


def _measure_round(population: Population, lines: pd.DataFrame, round_: int) -> dict[str, Any]:
    parties, surveys = population.room.parties, population.room.attitudes
    before = [survey for survey in surveys if survey < round_]
    latest = surveys[before[-1]] if before else pd.Series(np.nan, index=parties.index)
    attitudes = lines["agent_said"].map(latest)
    by_hearer = attitudes.dropna().groupby(lines["agent"])
    other = lines["agent"].map(parties) != lines["agent_said"].map(parties)
    return {
        "missing": int(attitudes.isna().sum()),
        "variance": _agent_mean(by_hearer.var(), "no agent heard two rated speakers"),
        "entropy": _agent_mean(
            by_hearer.agg(lambda heard: entropy(heard.to_numpy())), "no agent heard a rated speaker"
        ),
        "cross": _agent_mean(other.groupby(lines["agent"]).mean(), "no agent heard anything"),
        "blind": blind(parties),
    }


def _agent_mean(values: pd.Series, reason: str) -> RoomMeasurement:
    present = values.dropna()
    return RoomMeasurement(float(present.mean())) if len(present) else RoomMeasurement(None, reason)


def entropy(attitudes: Floats) -> float:
    """Return Shannon's entropy of attitudes as whole points, as a share of its greatest value, log 11.

    >>> round(entropy(np.array([2.0, 2.0, 8.0, 8.0])), 3)  # log 2 / log 11
    0.289
    """
    counts = np.unique(np.round(attitudes), return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / np.log(POINTS)) + 0.0  # + 0.0: no -0.0 where all are at one point


def blind(parties: pd.Series) -> RoomMeasurement:
    """Return the share of ordered pairs of different agents that are of different parties.

    >>> round(blind(pd.Series(["a", "a", "b"])).value, 4)
    0.6667
    """
    n, counts = len(parties), parties.value_counts()
    if n < 2:
        return RoomMeasurement(None, "one person only")
    return RoomMeasurement(float(1 - (counts * (counts - 1)).sum() / (n * (n - 1))))
