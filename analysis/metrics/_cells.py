"""The cells that metrics report on: one topic, group and party, its attitudes by agent, and the Default's level beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats, is_even, mean_interval, too_few
from parley.analysis.tables import Tables, rating_value

DEFAULT, REFERENCE = "default", "reference"
KEYS = ("topic", "group", "party")
NO_AGENT = "no agent rated first and last"
NO_DEFAULT, UNREAD_DEFAULT = (
    "no Default was asked",
    "no rating of the Default could be read",
)
NO_GAP = "starts at the Default's level"
UNSURE = "whether it starts above or below the Default's level cannot be told"
SMALLEST_GAP = 0.05
"""Below this distance from the Default (points) there is no direction to speak of."""


@dataclass(frozen=True)
class Cell:
    """`attitudes` has a row a (room, agent) and a column a survey, named by its round (0 first); NaN: no rating could be read.

    `measure` says what attitudes are: `expected` or `rating` (analysis/tables.py). `default` is the Default's
    mean before the
    debates (see `default_level`); None where there is none, and then `lacks` says why. `line` is the Default's attitude by room
    and round where one is seated, else None.
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

    def complete(self) -> tuple[pd.DataFrame, int]:
        """Room means (a row a room, a column a round) over the agents rated first and last, and how many agents lack either.

        A gap in the middle stays NaN unless another agent of the room fills the mean.
        """
        kept = self.attitudes.iloc[:, [0, -1]].notna().all(axis=1)
        return self.attitudes[kept].groupby(level="room", sort=False).mean(), int((~kept).sum())


def cells(tables: Tables) -> Iterator[Cell]:
    """Every topic, debating group and party with at least two surveys, in seating order."""
    tables = rating_value(tables)
    wide = tables.attitudes.pivot(index=[*KEYS, "room", "agent"], columns="round", values="attitude")
    known = set(wide.index.droplevel(["party", "room", "agent"]))
    for topic in tables.topics:
        for group in tables.groups:
            if (topic, group) in known:
                here = wide.loc[(topic, group)].dropna(axis=1, how="all").sort_index(axis=1)
                if here.shape[1] > 1:
                    yield from _parties(tables, topic, group, here)


def _parties(tables: Tables, topic: str, group: str, here: pd.DataFrame) -> Iterator[Cell]:
    rated, level = set(here.index.unique("party")), default_level(tables, topic, group)
    asked = any(len(ratings) for _, ratings in _defaults(tables, topic, group))
    lacks = None if level else UNREAD_DEFAULT if asked else NO_DEFAULT
    default = level.value if level else None
    kinds = tables.attitudes[tables.attitudes["topic"] == topic].groupby("party")["measure"].first()
    line = here.loc[DEFAULT].groupby(level="room", sort=False).mean() if DEFAULT in rated else None
    for party in tables.agents.loc[tables.agents["group"] == group, "party"].unique():
        if party in rated:
            yield Cell(topic, group, party, here.loc[party], default, line, kinds[party], lacks)


class Level(NamedTuple):
    """The Default's mean attitude before the debates (0-10), over `n` agents of the group `source`."""

    value: float
    n: int
    source: str


def default_level(tables: Tables, topic: str, group: str) -> Level | None:
    """The Default's level before the debates (dashed line, Figs 4 and 8); None when nobody was asked or could be read.

    That of the Defaults of the group itself; else of those in a debating group with the same partisans
    (republican+republican takes it from republican+republican+default); else of the reference, asked outside.
    """
    for name, ratings in _defaults(tables, topic, group):
        if len(levels := ratings.dropna()):
            return Level(float(levels.mean()), len(levels), name)
    return None


def _defaults(tables: Tables, topic: str, group: str) -> Iterator[tuple[str, pd.Series[float]]]:
    """The Defaults' ratings before the debates that a group's level may be taken from, the nearest group first; NaN: not read."""
    ratings = tables.attitudes
    before = ratings[(ratings["round"] == 0) & (ratings["party"] == DEFAULT) & (ratings["topic"] == topic)]
    alike = [other for other in tables.groups if _partisans(other) == _partisans(group)]
    for name in (group, *alike, REFERENCE):
        yield name, before.loc[before["group"] == name, "attitude"]


def _partisans(group: str) -> set[str]:
    return {part.rpartition(" ")[2] for part in group.split("+")} - {DEFAULT}


def toward(cell: Cell, means: pd.DataFrame) -> tuple[float | None, str | None]:
    """1 when moving up is moving toward the Default, -1 when moving down is; else None and the reason.

    By the cell's mean, never agent by agent, and only where the starting gap can be told from none: where noise chooses
    the direction, mere regression to the mean would look like drift.
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
    """Return 1 where the mean of one gap a unit is above 0 by more than chance, -1 where it is below; else None."""
    low, high = mean_interval(gaps)
    alike = len(gaps) >= FEWEST and is_even(gaps)
    return float(np.sign(gaps.mean())) if alike or low > 0 or high < 0 else None


def frame(rows: Iterable[dict[str, Any]], **kinds: str) -> pd.DataFrame:
    """Rows as a table with the keys in front and the given columns (name=dtype), so that a missing number is NaN, never text."""
    return pd.DataFrame(list(rows), columns=[*KEYS, *kinds]).astype(dict.fromkeys(KEYS, "object") | kinds)


def spans(*names: str) -> dict[str, str]:
    """The columns of numbers with intervals, for `frame`."""
    return {f"{name}{end}": "float64" for name in names for end in ("", "_low", "_high")}


def bounded(name: str, value: float, ends: tuple[float, float], outside: str) -> dict[str, Any]:
    """A share, which is between 0 and 1, and its interval, cut there; empty with the reason `outside` where it is not."""
    if not 0 <= value <= 1:
        return {"reason": outside}
    low, high = np.clip(ends, 0, 1)
    return with_interval(name, value, (float(low), float(high)))


def with_interval(name: str, value: float, ends: tuple[float, float]) -> dict[str, float]:
    """A number and its interval as columns of a row."""
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
