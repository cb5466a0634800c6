"""Conditions of one preset, held with the same seed: a number a room in each, and differences from the first within rooms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import mean_interval

PAIR = ["topic", "repetition"]
"""What makes rooms of two conditions one pair: the same people, as far as the condition lets them be."""
COLUMNS = [
    "condition",
    "rooms",
    "missing",
    "value",
    "low",
    "high",
    "pairs",
    "difference",
    "difference_low",
    "difference_high",
]


def compare_conditions(found: Mapping[str, pd.DataFrame], measure: str) -> pd.DataFrame:
    """One row a condition: rooms, missing (rooms without a number), value with its 95% interval over rooms, pairs, difference.

    found: by condition a row a room with PAIR and the measure (NaN: none). The difference is from the first condition, within
    pairs in which both have a number; the first has none.
    """
    wide = pd.DataFrame({name: rooms.set_index(PAIR)[measure] for name, rooms in found.items()})
    first, *_ = wide
    rows = []
    for name in wide:
        known = wide[name].dropna().to_numpy(dtype=float)
        apart = (wide[name] - wide[first]).dropna().to_numpy(dtype=float) if name != first else np.array([])
        told = {
            "condition": name,
            "rooms": len(known),
            "missing": len(found[str(name)]) - len(known),
            "pairs": len(apart),
        }
        rows.append(told | _mean("value", "", known) | _mean("difference", "difference_", apart))
    return pd.DataFrame(rows, columns=COLUMNS)


def _mean(key: str, ends: str, values: np.ndarray) -> dict[str, float]:
    low, high = mean_interval(values)
    return {key: float(values.mean()) if len(values) else np.nan, f"{ends}low": low, f"{ends}high": high}
