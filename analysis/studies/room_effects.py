"""What an intervention changes in whole rooms: spread of opinions, answers to further questions, acts on a social medium.

The difference is with minus without, within rooms, as in analysis/studies/intervention.py. The unit is the
repetition: the same people meet on every topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from parley.agents.probe import FORECAST
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.tables import Tables

MIDDLE = 5.0
"""Middle of the axis of attitudes."""
AGENT = ["room", "agent", "probe"]
SHARES = frozenset({"repost", "quote"})
MEASURES = {
    "variance": "variance of attitudes (points squared)",
    "extremity": "distance of attitudes from the middle (points)",
    "active": "share of acts other than nothing",
    "shares": "share of acts that pass a post on",
}
"""What each measure is; `probe NAME` is the mean answer to the further question NAME, on its own scale."""


def paired_values(without: Tables, with_: Tables, first: int, rooms: Collection[str]) -> dict[str, pd.DataFrame]:
    """Return by measure a frame with a row per room and two columns, without and with; rooms without one of them are left out.

    Ratings are those after the last round of the agents that have one in both runs; acts are those from round `first` on that
    could be read. Variance needs two ratings. rooms: those that an intervention reached (none: all).
    """
    branches = (without, with_)
    attitudes = _common(*[_last(tables.attitudes, "attitude") for tables in branches])
    further = _common(*[_last(tables.probes[tables.probes["probe"] != FORECAST], "rating") for tables in branches])
    before, after = (
        dict(_columns(*parts, first))
        for parts in zip(attitudes, further, [tables.acts for tables in branches], strict=True)
    )
    paired = {}
    for measure in [name for name in before if name in after]:
        pair = pd.DataFrame({"without": before[measure], "with": after[measure]}).dropna()
        paired[measure] = pair[pair.index.isin(rooms)] if rooms else pair
    return paired


def _last(ratings: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the ratings after the last round that could be read, without those of the Default."""
    last = ratings[(ratings["group"] != REFERENCE) & (ratings["round"] == ratings["round"].max())]
    return last.dropna(subset=value).set_index(AGENT)[["round", value]]


def _common(first: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ratings of agents who have one in both."""
    return first[first.index.isin(other.index)], other[other.index.isin(first.index)]


def _columns(
    attitudes: pd.DataFrame, further: pd.DataFrame, acts: pd.DataFrame, first: int
) -> Iterator[tuple[str, pd.Series]]:
    """Yield each measure with its value in each room."""
    if len(attitudes) and attitudes["round"].iloc[0] >= first:
        yield "variance", attitudes["attitude"].groupby(level="room").var()
        yield "extremity", (attitudes["attitude"] - MIDDLE).abs().groupby(level="room").mean()
    for probe, answers in further.groupby(level="probe", sort=False):
        yield f"probe {probe}", answers["rating"].groupby(level="room").mean()
    acts = acts[(acts["round"] >= first) & acts["act"].notna()]
    if not acts.empty:
        yield "active", (acts["act"] != "nothing").groupby(acts["room"]).mean()
        yield "shares", acts["act"].isin(SHARES).groupby(acts["room"]).mean()


def describe(measure: str) -> str:
    """Return what a measure is, in words."""
    return MEASURES.get(measure) or f"mean answer to {measure.removeprefix('probe ')}"
