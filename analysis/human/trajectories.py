"""Trajectories of opinions in a talk: how far a person believes what the other side argues for.

Values are from 0 to 1, before the talk and after each turn. Two null samples are made from trajectories of people: the
same people with their steps shuffled, and the same people if no one ever moved.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.statistics.intervals import Floats


class Trajectories(NamedTuple):
    """Beliefs of people in the other side's claim: (people, turns + 1), before and after each turn (0-1), NaN after a person's
    last turn; and the group (talk, room) of each person.
    """

    groups: NDArray[np.object_]
    beliefs: Floats

    def take(self, places: NDArray[np.intp]) -> Trajectories:
        """Return these people, in this order."""
        return Trajectories(self.groups[places], self.beliefs[places])

    @property
    def turns(self) -> NDArray[np.intp]:
        """The number of turns of each person."""
        return np.asarray(np.isfinite(self.beliefs).sum(axis=1) - 1)


def trajectories(people: pd.DataFrame) -> Trajectories:
    """Return the trajectories of all people with turns and a side, each up to its first gap.

    >>> people = pd.DataFrame({"group": ["a"], "before": [0.5], "side": [-1.0], "turns": [(0.4, 0.2, np.nan, 0.1)]})
    >>> trajectories(people).beliefs.round(3).tolist()
    [[0.5, 0.6, 0.8]]
    """
    asked_by_turn = people[people["turns"].map(bool) & people["side"].notna() & people["before"].notna()]
    ways, groups = [], []
    for row in asked_by_turn[["group", "before", "side", "turns"]].itertuples(index=False):
        beliefs = np.array([row.before, *row.turns], dtype=float)
        beliefs = beliefs[np.logical_and.accumulate(np.isfinite(beliefs))]
        if len(beliefs) > 1:
            groups.append(row.group)
            ways.append(beliefs if row.side > 0 else 1 - beliefs)
    padded = np.array(list(zip_longest(*ways, fillvalue=np.nan)), dtype=float).T if ways else np.empty((0, 2))
    return Trajectories(np.array(groups, dtype=object), padded)


def shuffle_steps(ways: Trajectories, rng: np.random.Generator) -> Trajectories:
    """Return the same people and numbers of turns, with all steps of all people in random order, within 0 and 1."""
    steps = np.diff(ways.beliefs, axis=1)
    made = np.isfinite(steps)
    steps[made] = rng.permutation(steps[made])
    beliefs = ways.beliefs.copy()
    for turn in range(steps.shape[1]):
        beliefs[:, turn + 1] = np.clip(beliefs[:, turn] + steps[:, turn], 0, 1)
    return Trajectories(ways.groups, beliefs)


def hold_still(ways: Trajectories) -> Trajectories:
    """Return the same people and numbers of turns, with the belief before after every turn."""
    return Trajectories(ways.groups, np.where(np.isfinite(ways.beliefs), ways.beliefs[:, :1], np.nan))
