"""Cells, the unit of most metrics: one topic, group and party, with its agents' attitudes and the Default's first rating."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.rating_value import NO_DISTRIBUTION
from parley.analysis.statistics.intervals import (
    FEWEST,
    Ends,
    Floats,
    is_even,
    mean_interval,
    share_interval,
    too_few,
    with_interval,
)
from parley.analysis.tables import Tables
from parley.environments.base import UNDER

DEFAULT, REFERENCE = "default", "reference"
KEYS = ("topic", "group", "party")
NO_AGENT = "no agent was rated in both the first and the last survey"
NO_DEFAULT = "no Default agent was surveyed"
UNREAD_DEFAULT = "no rating of the Default could be read"
FLAT_DEFAULT = "no rating of the Default has a distribution"
NO_GAP = "starts at the Default's first rating"
UNSURE = "whether it starts above or below the Default's first rating is unknown"
SMALLEST_GAP = 0.05
"""Gap to the Default's first rating (points) below which a party has no direction toward it."""


@dataclass(frozen=True)
class Cell:
    """One topic, group and party.

    attitudes: a row per (room, agent) and a column per survey, named by its round (0: before the debate); NaN where the
    rating could not be read. measure: what attitudes are, `expected` or `rating` (analysis/tables.py). default: the
    Default's mean before the debates (`default_level`); None where there is none, and `lacks` says why. line: the
    Default's attitude by room and round where a Default is seated, else None.
    """

    topic: str
    group: str
    party: str
    attitudes: pd.DataFrame
    default: float | None
    line: pd.DataFrame | None
    measure: str
    lacks: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        return {"topic": self.topic, "group": self.group, "party": self.party}

    @property
    def rounds(self) -> Floats:
        return np.asarray(self.attitudes.columns, dtype=float)

    def rated(self, *also: float) -> pd.DataFrame:
        """Return the attitudes of the agents rated first, last and after the rounds `also`."""
        first, last = self.attitudes.columns[[0, -1]]
        return self.attitudes.dropna(subset=[first, *also, last])

    def complete(self, *also: float) -> tuple[pd.DataFrame, int]:
        """Return room means (a row per room, a column per round) over the agents `rated`, and the number of other agents.

        A gap between those rounds stays NaN unless another agent of the room was rated then.
        """
        rated = self.rated(*also)
        return rated.groupby(level="room", sort=False).mean(), len(self.attitudes) - len(rated)


def cells(tables: Tables) -> Iterator[Cell]:
    """Yield every topic, debating group and party with at least two surveys, in seating order."""
    wide = tables.attitudes.pivot(index=[*KEYS, "room", "agent"], columns="round", values="attitude")
    rated = set(wide.index.droplevel(["party", "room", "agent"]))
    for topic, group in product(tables.topics, tables.groups):
        if (topic, group) in rated:
            attitudes = wide.loc[(topic, group)].dropna(axis=1, how="all").sort_index(axis=1)
            if attitudes.shape[1] > 1:
                yield from _party_cells(tables, topic, group, attitudes)


def _party_cells(tables: Tables, topic: str, group: str, attitudes: pd.DataFrame) -> Iterator[Cell]:
    parties, level = set(attitudes.index.unique("party")), default_level(tables, topic, group)
    default_opinions = pd.concat([ratings for _, ratings in _default_ratings(tables, topic, group)])
    lacks = None if level else _why_no_level(tables, default_opinions)
    default = level.value if level else None
    measures = tables.attitudes[tables.attitudes["topic"] == topic].groupby("party")["measure"].first()
    line = attitudes.loc[DEFAULT].groupby(level="room", sort=False).mean() if DEFAULT in parties else None
    for party in tables.agents.loc[tables.agents["group"] == group, "party"].unique():
        if party in parties:
            yield Cell(topic, group, party, attitudes.loc[party], default, line, measures[party], lacks)


def _why_no_level(tables: Tables, opinions: pd.Series) -> str:
    """Return why the Default has no level. default_opinions: the opinions of Defaults before the debates, none of them known."""
    if opinions.empty:
        return NO_DEFAULT
    return FLAT_DEFAULT if (tables.attitudes.loc[opinions.index, "reason"] == NO_DISTRIBUTION).any() else UNREAD_DEFAULT


class Level(NamedTuple):
    """The Default's mean attitude before the debates (0-10), over `n` agents of the group `source`."""

    value: float
    n: int
    source: str


def default_level(tables: Tables, topic: str, group: str) -> Level | None:
    """Return the Default's first rating; None where no Default agent was surveyed, or none could be read.

    It comes from the group itself where that seats a Default; else from a debating group with the same partisans
    (labour+labour takes it from labour+labour+default); else from the reference group, which does not
    debate.
    """
    for source, ratings in _default_ratings(tables, topic, group):
        if len(levels := ratings.dropna()):
            return Level(float(levels.mean()), len(levels), source)
    return None


def _default_ratings(tables: Tables, topic: str, group: str) -> Iterator[tuple[str, pd.Series[float]]]:
    """Yield the groups whose Defaults may give the level, the nearest first, with their ratings before the debates."""
    ratings = tables.attitudes
    before = ratings[(ratings["round"] == 0) & (ratings["party"] == DEFAULT) & (ratings["topic"] == topic)]
    similar = [other for other in tables.groups if _partisans(other) == _partisans(group)]
    for source in (group, *similar, REFERENCE):
        yield source, before.loc[before["group"] == source, "attitude"]


def _partisans(group: str) -> set[str]:
    return {member.rpartition(" ")[2] for member in group.partition(UNDER)[0].split("+")} - {DEFAULT}


def default_direction(cell: Cell, means: pd.DataFrame) -> tuple[float | None, str | None]:
    """Return 1 if a higher attitude is nearer to the Default's first rating, -1 if a lower one is; else None and the reason.

    The direction is that of the cell's mean, and only where the gap at the start differs from zero by more than chance:
    if noise chose the direction, regression to the mean would look like drift.
    """
    if means.empty:
        return None, NO_AGENT
    if cell.default is None:
        return None, cell.lacks
    gaps = cell.default - means.iloc[:, 0].to_numpy(dtype=float)
    if len(gaps) < FEWEST:
        return None, too_few()
    if abs(gaps.mean()) < SMALLEST_GAP:
        return None, NO_GAP
    side = direction(gaps)
    return side, None if side else UNSURE


def direction(gaps: Floats) -> float | None:
    """Return 1 if the mean of one gap per unit is above 0 by more than chance, -1 if it is below; else None."""
    low, high = mean_interval(gaps)
    certain = (len(gaps) >= FEWEST and is_even(gaps)) or low > 0 or high < 0
    return float(np.sign(gaps.mean())) if certain else None


def cell_columns(cell: Cell, means: pd.DataFrame, missing: int) -> dict[str, Any]:
    """Return the columns with which a cell's row begins: its keys, measure, rooms, and missing agents."""
    return {**cell.keys, "measure": cell.measure, "rooms": len(means), "missing": missing}


COUNTS = {"rooms": "int64", "missing": "int64"}
CELL_COLUMNS = {"measure": "object"} | COUNTS


def frame(rows: Iterable[dict[str, Any]], **kinds: str) -> pd.DataFrame:
    """Return rows as a table: the keys, then the given columns (name=dtype), so that a missing number is NaN."""
    return pd.DataFrame(list(rows), columns=[*KEYS, *kinds]).astype(dict.fromkeys(KEYS, "object") | kinds)


def verdict_frame(rows: Iterable[dict[str, Any]], **kinds: str) -> pd.DataFrame:
    """Return rows with a verdict as a table: group, the given columns (name=dtype), p_holm, verdict, reason."""
    every = {"group": "object", **kinds, "p_holm": "float64", "verdict": "object", "reason": "object"}
    return pd.DataFrame(list(rows), columns=list(every)).astype(every)


def spans(*names: str) -> dict[str, str]:
    """Return the dtypes of numbers with intervals, for `frame`."""
    return {f"{name}{end}": "float64" for name in names for end in ("", "_low", "_high")}


def mean_columns(name: str, values: Floats, bounds: Ends | None = None) -> dict[str, float]:
    """Return the mean of one number per room, with its interval (within its bounds, if any), as columns of a row."""
    return with_interval(name, float(values.mean()), mean_interval(values, bounds=bounds))


def share_columns(name: str, count: int, rooms: int) -> dict[str, float]:
    """Return a share of rooms (NaN of none), with its Wilson interval, as columns of a row."""
    return with_interval(name, count / rooms if rooms else float("nan"), share_interval(count, rooms))


def bounded(name: str, value: float, ends: tuple[float, float], outside: str) -> dict[str, Any]:
    """Return a share with its interval cut at 0 and 1; only the reason `outside` where the share itself is not between them."""
    if not 0 <= value <= 1:
        return {"reason": outside}
    low, high = np.clip(ends, 0, 1)
    return with_interval(name, value, (float(low), float(high)))


def count_signs(rows: pd.DataFrame, name: str) -> tuple[int, int, int]:
    """Return how many rows are above 0 by more than chance, how many are below, and how many are neither."""
    above, below = int((rows[f"{name}_low"] > 0).sum()), int((rows[f"{name}_high"] < 0).sum())
    return above, below, len(rows) - above - below
