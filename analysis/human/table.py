"""People before and after a debate: one table for every source.

| column | what it is |
|---|---|
| condition | the part of the source that a row belongs to: a treatment, a topic |
| group | the debate or room, the unit of analysis; people of one group are not independent |
| person | who, within the group |
| before, after | opinion on the source's axis, 0-1; NaN: not known |
| partner | what the others of the group thought before (their mean), on the same axis; NaN: not known |
| side | 1 when the other side stands for the upper end of the axis, -1 for the lower one; NaN: there is none |
| turns | opinions after each turn between before and after, a tuple, NaN for a gap; () where nobody asked |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

COLUMNS = ["condition", "group", "person", "before", "after", "partner", "side", "turns"]
MOVES = ["condition", "group", "persons", "missing", "moved"]
ALL = "all"
MAJORITY_OF = 3
"""People from which on a group has a majority."""


@dataclass(frozen=True)
class Source:
    """One source of people. `people` has COLUMNS; it is empty for a source that tells of groups alone.

    moves: one row a group (MOVES): persons asked before and after, missing (the others), moved (share that moved toward the
    majority of before, minus the share that moved away). unit: what a group is. still: how far (0-1) is not moving; 0 where a
    scale has points. origin: authors, year, licence. notes: what a reader has to know of these numbers.
    """

    name: str
    people: pd.DataFrame
    moves: pd.DataFrame
    unit: str
    origin: str
    still: float = 0.0
    notes: tuple[str, ...] = ()

    def parts(self) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
        """Every condition and, where there are several, all together: name, people, moves."""
        names = list(dict.fromkeys([*self.people["condition"], *self.moves["condition"]]))
        for name in names:
            yield name, self.people[self.people["condition"] == name], self.moves[self.moves["condition"] == name]
        if len(names) > 1:
            yield ALL, self.people, self.moves


def complete(people: pd.DataFrame) -> pd.DataFrame:
    """Those whose opinion is known before and after."""
    return people[people["before"].notna() & people["after"].notna()]


def others_mean(people: pd.DataFrame) -> pd.Series:
    """What the others of each one's group thought before: the mean of those known; NaN where none is.

    >>> others_mean(pd.DataFrame({"group": [1, 1, 1], "before": [0.0, 0.5, 1.0]})).tolist()
    [0.75, 0.5, 0.25]
    """
    known = people["before"].notna()
    groups = people["before"].groupby(people["group"])
    count = groups.transform("count") - known
    total = groups.transform("sum") - people["before"].fillna(0.0)
    return (total / count.where(count > 0)).rename("partner")


def toward_majority(people: pd.DataFrame) -> pd.DataFrame:
    """The moves (MOVES) of groups of three and more. The majority is the side of the axis' middle on which more people stood
    before; a group without one has NaN. Who stands in the middle is of no side; who does not move counts as 0.
    """
    rows = [
        (condition, group, *_moved(part))
        for (condition, group), part in people.groupby(["condition", "group"], sort=False)
        if len(part) >= MAJORITY_OF
    ]
    return moves_table(pd.DataFrame(rows, columns=MOVES))


def moves_table(moves: pd.DataFrame) -> pd.DataFrame:
    """The moves with their types, also when there are none."""
    return moves[MOVES].astype({"persons": "int64", "missing": "int64", "moved": "float64"})


def no_people() -> pd.DataFrame:
    """The table of a source that tells of groups alone."""
    return pd.DataFrame(columns=COLUMNS).astype(dict.fromkeys(["before", "after", "partner", "side"], "float64"))


def _moved(group: pd.DataFrame) -> tuple[int, int, float]:
    both = complete(group)
    majority = float(np.sign(np.sign((group["before"] - 0.5).round(9)).sum()))
    steps = np.sign((both["after"] - both["before"]).round(9))
    moved = majority * float(steps.mean()) if majority and len(both) else np.nan
    return len(both), len(group) - len(both), moved
