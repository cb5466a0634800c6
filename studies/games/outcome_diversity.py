"""How games end: which outcomes there are, and how diverse they are over rooms.

Source: Shannon 1948 (entropy).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.rooms import each_row
from parley.analysis.statistics.intervals import Floats
from parley.analysis.tables import Tables

from .played import endings

ORDER = 43
TITLE = "How games end"
NOTE = (
    "The column `distinct` counts the different endings over rooms; agreements on different packages are different endings. The "
    "column `entropy` has the diversity of endings in bits: 0 if all rooms end alike, 1 for two equally frequent endings. "
    "Entropy is too low with few rooms, so compare only runs with equal numbers of rooms. Entropy has no interval, because the "
    "tested intervals miss the truth too often (docs/exam.md)."
)
LABELS = {
    "rooms": "rooms", "missing": "missing", "distinct": "different endings", "entropy": "entropy (bits)", "most": "most frequent",
    "most_share": "its share", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "outcomes"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms (with a known ending), missing, distinct, entropy, most, most_share, reason."""
    rows = []
    for (topic, group), group_endings in endings(tables).groupby(["topic", "group"], sort=False):
        known_endings = group_endings["ending"].dropna()
        row: dict[str, Any] = {
            "topic": topic,
            "group": group,
            "rooms": len(known_endings),
            "missing": len(group_endings) - len(known_endings),
        }
        counts = known_endings.value_counts()
        row |= {"distinct": len(counts), "entropy": entropy(counts.to_numpy(dtype=float))}
        row |= {
            "most": counts.index[0] if len(counts) else None,
            "most_share": counts.iloc[0] / len(known_endings) if len(known_endings) else np.nan,
        }
        rows.append(row | {"reason": None if len(known_endings) else "no room has a known ending"})
    columns = ["topic", "group", "rooms", "missing", "distinct", "entropy", "most", "most_share", "reason"]
    return pd.DataFrame(rows, columns=columns)


def one_hot(names: pd.Series) -> Floats:
    """Return a row per room and a column per ending, 1 for the ending of the room."""
    matrix: Floats = pd.get_dummies(names).to_numpy(dtype=float).reshape(len(names), -1)
    return matrix


def entropy(counts: Floats) -> float:
    """Return the entropy of counts in bits; NaN without any.

    >>> entropy(np.array([2.0, 2.0])), entropy(np.array([5.0, 0.0]))
    (1.0, 0.0)
    """
    if not (total := counts.sum()):
        return float("nan")
    shares = counts[counts > 0] / total
    return max(0.0, -float((shares * np.log2(shares)).sum()))


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if not row["rooms"]:
        return "It is unknown how the games end, because no room has a known ending."
    often = f"{row['distinct']} different endings in {row['rooms']} rooms; most often {row['most']} ({row['most_share']:.0%})"
    return f"Games end in {often}."
