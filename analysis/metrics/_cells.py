"""The cells that metrics report on: one topic, group and party, its attitudes by agent, and the Default's level beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats
from analysis.load import Tables

DEFAULT, REFERENCE = "default", "reference"


@dataclass(frozen=True)
class Cell:
    """`attitudes` has a row an agent and a column a round (0 first); NaN where no rating could be read. `rooms` by row.

    `default` is the Default's mean attitude before the debates: that of the group's own Default agents, else of the
    reference agents asked outside; None when nobody was asked.
    """

    topic: str
    group: str
    party: str
    attitudes: pd.DataFrame
    rooms: pd.Series
    default: float | None

    @property
    def keys(self) -> dict[str, str]:
        return {"topic": self.topic, "group": self.group, "party": self.party}

    def complete(self) -> tuple[Floats, int]:
        """Room means (rooms, rounds + 1) over the agents rated first and last, and how many agents lack either.

        A gap in the middle stays NaN unless another agent of the room fills the mean.
        """
        kept = self.attitudes.iloc[:, [0, -1]].notna().all(axis=1)
        means = self.attitudes[kept].groupby(self.rooms[kept], sort=False).mean()
        return means.to_numpy(dtype=float), int((~kept).sum())


def cells(tables: Tables) -> Iterator[Cell]:
    """Every topic, debating group and party with at least two survey rounds, in seating order."""
    wide = tables.attitudes.pivot(
        index=["topic", "group", "party", "room", "agent"], columns="round", values="attitude"
    )
    for topic in tables.topics:
        for group in tables.groups:
            if (topic, group) not in wide.index.droplevel([2, 3, 4]):
                continue
            here = wide.loc[(topic, group)].dropna(axis=1, how="all").sort_index(axis=1)
            for party in here.index.unique("party"):
                mine = here.loc[party]
                if mine.shape[1] > 1:
                    yield Cell(
                        topic,
                        group,
                        party,
                        mine,
                        pd.Series(mine.index.get_level_values("room"), index=mine.index),
                        default_level(tables, topic, group),
                    )


def default_level(tables: Tables, topic: str, group: str) -> float | None:
    """Mean attitude of the Default before the debates: of the group, else of the reference (dashed line, Figs 4 and 8)."""
    before = tables.attitudes[
        (tables.attitudes["round"] == 0) & (tables.attitudes["party"] == DEFAULT) & (tables.attitudes["topic"] == topic)
    ]
    for name in (group, REFERENCE):
        level = before.loc[before["group"] == name, "attitude"].mean()
        if pd.notna(level):
            return float(level)
    return None


def toward(cell: Cell, means: Floats) -> float | None:
    """1 when moving up is moving toward the Default, -1 when moving down is; by the cell's mean, never agent by agent.

    (Agent by agent, noise alone would look like drift.) None without a Default or with a gap below 0.05.
    """
    if cell.default is None or not len(means):
        return None
    gap = cell.default - float(means[:, 0].mean())
    return None if abs(gap) < 0.05 else float(np.sign(gap))
