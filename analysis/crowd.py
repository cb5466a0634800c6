"""Populations: where a group has too many seats for a line each, its figure has one for each party."""

from __future__ import annotations

import pandas as pd

from parley.analysis.load import Tables

SEATS = 8
"""Up to so many seats of a party have a line each: more cannot be told apart (analysis/plots.py)."""
HALF = "Half of a party"
"""What the thin lines mean."""


def by_party(tables: Tables, topic: str, group: str) -> pd.DataFrame | None:
    """The points of a crowded panel, None where seats have a line each.

    One row a party and round: seat (the party), party, round, iteration (replies so far, mean over rooms), n (rooms rated), mean
    and se (over the rooms' means), low and high (quartiles over all agents), all on 0-10.
    """
    seats = tables.agents[tables.agents["group"] == group]
    if not seats.groupby("party")["seat"].nunique().max() > SEATS:
        return None
    ratings = tables.attitudes[(tables.attitudes["group"] == group) & (tables.attitudes["topic"] == topic)]
    keys = ["party", "round"]
    rooms = ratings.groupby([*keys, "room"], sort=False)["attitude"].mean().groupby(keys, sort=False)
    points = rooms.agg(n="count", mean="mean", sd="std")
    people = ratings.groupby(keys, sort=False)
    points = points.assign(
        iteration=people["iteration"].mean(),
        low=people["attitude"].quantile(0.25),
        high=people["attitude"].quantile(0.75),
        se=points["sd"] / points["n"] ** 0.5,
    ).reset_index()
    return points.assign(seat=points["party"])
