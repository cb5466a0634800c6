"""What an intervention changes in whole rooms: spread of opinions, answers to further questions, acts on a social medium.

The difference is with minus without, within rooms, as in analysis/studies/intervention.py. The unit is the room.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from parley.agents.topic import FORECAST
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.tables import Tables, rating_value

MIDDLE = 5.0
"""Middle of the axis of attitudes."""
SHARES = frozenset({"repost", "quote"})
MEASURES = {
    "variance": "variance of attitudes (points squared)",
    "extremity": "distance of attitudes from the middle (points)",
    "active": "share of acts other than nothing",
    "shares": "share of acts that pass a post on",
}
"""What each measure is; `probe NAME` is the mean answer to the further question NAME, on its own scale."""


def room_values(tables: Tables, first: int) -> pd.DataFrame:
    """Return one row per room (the index) and a column per measure, NaN where a room has no number.

    Ratings are those after the last round; acts those from round `first` on that could be read. Variance needs two ratings.
    """
    return pd.DataFrame(dict(_columns(tables, first)))


def _columns(tables: Tables, first: int) -> Iterator[tuple[str, pd.Series]]:
    ratings = rating_value(tables).attitudes
    rated = ratings[(ratings["group"] != REFERENCE) & (ratings["round"] == ratings["round"].max())]
    if not rated.empty and rated["round"].iloc[0] >= first:
        yield "variance", rated.groupby("room")["attitude"].var()
        yield "extremity", (rated["attitude"] - MIDDLE).abs().groupby(rated["room"]).mean()
    further = tables.probes[(tables.probes["probe"] != FORECAST) & (tables.probes["group"] != REFERENCE)]
    for probe, answers in further[further["round"] == further["round"].max()].groupby("probe", sort=False):
        yield f"probe {probe}", answers.groupby("room")["rating"].mean()
    acts = tables.acts[(tables.acts["round"] >= first) & tables.acts["act"].notna()]
    if not acts.empty:
        yield "active", (acts["act"] != "nothing").groupby(acts["room"]).mean()
        yield "shares", acts["act"].isin(SHARES).groupby(acts["room"]).mean()


def paired_values(without: Tables, with_: Tables, first: int, rooms: Collection[str]) -> dict[str, pd.DataFrame]:
    """Return by measure a frame with a row per room and two columns, without and with; rooms without one of them are left out.

    rooms: those that an intervention reached (none: all).
    """
    before, after = room_values(without, first), room_values(with_, first)
    paired = {}
    for measure in [name for name in before if name in after]:
        pair = pd.DataFrame({"without": before[measure], "with": after[measure]}).dropna()
        paired[str(measure)] = pair[pair.index.isin(rooms)] if rooms else pair
    return paired


def describe(measure: str) -> str:
    """Return what a measure is, in words."""
    return MEASURES.get(measure) or f"mean answer to {measure.removeprefix('probe ')}"
